// Names in an index: all are found, repeated ones are noticed, and none makes it slow.
#include "format/safetensors/name_index.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace dequant::format::safetensors {
namespace {

std::vector<std::string> numbered(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("layer." + std::to_string(i));
  return names;
}

TEST(NameIndexTest, FindsEveryNameAndNoOther) {
  const auto names = numbered(10'000);
  const auto name_of = [&](size_t i) -> std::string_view { return names[i]; };
  const NameIndex index(names.size(), name_of);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(index.find(names[i], name_of), i);
  EXPECT_EQ(index.find("layer.10000", name_of), std::nullopt);
  EXPECT_EQ(index.find("", name_of), std::nullopt);
  EXPECT_EQ(index.repeated(name_of), std::nullopt);
}

TEST(NameIndexTest, AnEmptyOneFindsNothing) {
  const auto name_of = [](size_t) -> std::string_view { return "x"; };
  EXPECT_EQ(NameIndex().find("x", name_of), std::nullopt);
  EXPECT_EQ(NameIndex().repeated(name_of), std::nullopt);
}

TEST(NameIndexTest, NamesTheFirstEntryThatRepeatsAnEarlierOne) {
  auto names = numbered(1000);
  names[900] = names[3];
  names[400] = names[5];
  names[401] = names[5];
  names[399] = names[398];
  const auto name_of = [&](size_t i) -> std::string_view { return names[i]; };
  EXPECT_EQ(NameIndex(names.size(), name_of).repeated(name_of), 399U);
}

TEST(NameIndexTest, LooksAtNamesOnceAndWhereHashesAreEqual) {
  for (const size_t count : {100'000U, 200'000U}) {
    const auto names = numbered(count);
    size_t looks = 0;
    const auto name_of = [&](size_t i) -> std::string_view {
      ++looks;
      return names[i];
    };
    EXPECT_EQ(NameIndex(count, name_of).repeated(name_of), std::nullopt);
    EXPECT_LT(looks, count + count / 10);
  }
}

TEST(NameIndexTest, EqualNamesTakeNoMoreThanSorting) {
  const size_t count = 100'000;
  size_t looks = 0;
  const auto name_of = [&](size_t) -> std::string_view {
    ++looks;
    return "x";
  };
  EXPECT_EQ(NameIndex(count, name_of).repeated(name_of), 1U);
  EXPECT_LT(static_cast<double>(looks), 8 * count * std::log2(count));
}

}  // namespace
}  // namespace dequant::format::safetensors
