// Folded names: which numbers become a list, and that the patterns stand for exactly the names.
#include "format/model/fold_names.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace dequant::format {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> patterns(const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::vector<std::string> out;
  for (const FoldedNames& folded : fold_names(views)) out.push_back(folded.pattern);
  return out;
}

TEST(FoldNames, NumbersInARowAreARange) {
  EXPECT_THAT(patterns({"layers.0.w", "layers.1.w", "layers.2.w"}), ElementsAre("layers.{0..2}.w"));
  EXPECT_THAT(patterns({"w1", "w3", "w4"}), ElementsAre("w{1,3,4}"));
  EXPECT_THAT(patterns({"w0", "w1", "w2", "w5"}), ElementsAre("w{0..2,5}"));
  EXPECT_THAT(patterns({"w2", "w1"}), ElementsAre("w{1,2}"));
}

TEST(FoldNames, ANameAloneStaysAsItIs) {
  EXPECT_THAT(patterns({"lm_head.weight", "layers.7.w"}),
              ElementsAre("lm_head.weight", "layers.7.w"));
  EXPECT_TRUE(patterns({}).empty());
  EXPECT_THAT(patterns({""}), ElementsAre(""));
}

TEST(FoldNames, OnlyFullProductsFold) {
  // The first layers have no experts, and the last has one less.
  EXPECT_THAT(patterns({"l.0.up", "l.1.up", "l.2.e.0.up", "l.2.e.1.up", "l.3.e.0.up", "l.3.e.1.up",
                        "l.4.e.0.up"}),
              ElementsAre("l.{0,1}.up", "l.{2,3}.e.{0,1}.up", "l.4.e.0.up"));
}

TEST(FoldNames, WhatIsNoPlainNumberIsText) {
  EXPECT_THAT(patterns({"w00", "w01"}), ElementsAre("w00", "w01"));
  EXPECT_THAT(patterns({"w0", "w01"}), ElementsAre("w0", "w01"));
  EXPECT_THAT(patterns({"w1234567890123456789", "w1234567890123456788"}),
              ElementsAre("w1234567890123456789", "w1234567890123456788"));
  EXPECT_THAT(patterns({"1.1.1.1.1.1.1.1.1", "1.1.1.1.1.1.1.1.2"}),
              ElementsAre("1.1.1.1.1.1.1.1.1", "1.1.1.1.1.1.1.1.2"));
}

/// All names of a pattern, by reading its braces.
void expand(const std::string& pattern, std::multiset<std::string>& out) {
  const size_t open = pattern.find('{');
  if (open == pattern.npos) {
    out.insert(pattern);
    return;
  }
  const size_t close = pattern.find('}', open);
  const std::string list = pattern.substr(open + 1, close - open - 1);
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, end - at);
    const size_t dots = item.find("..");
    const unsigned long first = std::stoul(item);
    const unsigned long last = dots == item.npos ? first : std::stoul(item.substr(dots + 2));
    for (unsigned long i = first; i <= last; ++i)
      expand(pattern.substr(0, open) + std::to_string(i) + pattern.substr(close + 1), out);
    at = end + 1;
  }
}

TEST(FoldNames, PatternsStandForExactlyTheNames) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::set<std::string> names;
    const auto count = random() % 60;
    for (auto i = count; i > 0; --i) {
      std::string name = random() % 2 ? "a." : "b";
      for (auto k = random() % 3; k > 0; --k) name += std::to_string(random() % 5) + ".x";
      names.insert(name);
    }
    std::multiset<std::string> expanded;
    for (const std::string& p : patterns({names.begin(), names.end()})) expand(p, expanded);
    EXPECT_EQ(expanded, std::multiset<std::string>(names.begin(), names.end()));
  }
}

TEST(FoldNames, FortySixThousandTensorsAreThreeLines) {
  std::vector<std::string> names;
  for (int layer = 3; layer < 61; ++layer) {
    for (int expert = 0; expert < 256; ++expert) {
      for (const char* w : {"gate_proj", "up_proj", "down_proj"})
        names.push_back(fmt::format("model.layers.{}.mlp.experts.{}.{}.weight", layer, expert, w));
    }
  }
  EXPECT_THAT(patterns(names),
              ElementsAre("model.layers.{3..60}.mlp.experts.{0..255}.gate_proj.weight",
                          "model.layers.{3..60}.mlp.experts.{0..255}.up_proj.weight",
                          "model.layers.{3..60}.mlp.experts.{0..255}.down_proj.weight"));
}

}  // namespace
}  // namespace dequant::format
