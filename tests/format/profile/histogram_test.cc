// Histograms whose bins grow: the same whatever the order, and exact.
#include "format/profile/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace dequant::format {
namespace {

/// Histograms have no operator ==: what they tell is compared.
void expect_same(const Histogram& a, const Histogram& b) {
  ASSERT_EQ(a.empty(), b.empty());
  if (a.empty()) return;
  EXPECT_EQ(a.begin(), b.begin());
  EXPECT_EQ(a.width(), b.width());
  EXPECT_EQ(std::vector(a.counts().begin(), a.counts().end()),
            std::vector(b.counts().begin(), b.counts().end()));
}

/// Every number is in the bin that its definition names, and nothing else is.
void expect_true(const Histogram& h, const std::vector<float>& numbers) {
  std::map<int64_t, int64_t> expected;
  for (const double n : numbers) ++expected[static_cast<int64_t>(std::floor(n / h.width()))];
  EXPECT_EQ(h.begin(), static_cast<double>(expected.begin()->first) * h.width());
  ASSERT_EQ(static_cast<int64_t>(h.counts().size()),
            expected.rbegin()->first - expected.begin()->first + 1);
  for (size_t i = 0; i < h.counts().size(); ++i) {
    EXPECT_EQ(h.counts()[i], expected[expected.begin()->first + static_cast<int64_t>(i)]) << i;
  }
}

Histogram of(const std::vector<float>& numbers, int bins = 64) {
  Histogram h(bins);
  for (const double n : numbers) h.add(n);
  return h;
}

std::vector<std::vector<float>> samples() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> all{
      {0},      {-0.0F},           {1, 1, 1},   {-1e-45F, 0, 1},  {-3e38F, 3e38F},
      {1e-45F}, {1000, 1000.001F}, {-1, 1e30F}, {63, 64, -64, -1}};
  for (const float shift : {0.0F, 3.0F, -1e4F}) {
    for (const float scale : {1e-30F, 0.01F, 5.0F}) {
      std::vector<float> v(1000);
      for (float& x : v) x = shift + scale * normal(random);
      all.push_back(v);
    }
  }
  return all;
}

TEST(HistogramTest, CountsEachNumberInTheBinThatHoldsIt) {
  for (const auto& numbers : samples()) {
    for (const int bins : {2, 7, 64, 256}) expect_true(of(numbers, bins), numbers);
  }
}

TEST(HistogramTest, HasTheNarrowestBinsThatHoldAllNumbers) {
  const Histogram h = of({0, 63.5F});
  EXPECT_EQ(h.width(), 1);
  EXPECT_EQ(h.counts().size(), 64);
  EXPECT_EQ(of({0, 64}).width(), 2);
  EXPECT_EQ(of({-1, 63}).width(), 2);  // 65 bins of 1
  EXPECT_EQ(of({1}).width(), std::ldexp(1, -20));
}

TEST(HistogramTest, IsTheSameInAnyOrder) {
  std::mt19937 random(2);
  for (const auto& numbers : samples()) {
    auto shuffled = numbers;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    expect_same(of(numbers), of(shuffled));
    std::sort(shuffled.begin(), shuffled.end());
    expect_same(of(numbers), of(shuffled));
  }
}

TEST(HistogramTest, IsTheSameWhenNumbersComeTogetherOrFromOthers) {
  for (const auto& numbers : samples()) {
    const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
    Histogram at_once;
    at_once.add(numbers, *least, *greatest);
    expect_same(at_once, of(numbers));
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    Histogram sum = of({middle, numbers.end()});
    sum.add(of({numbers.begin(), middle}));
    sum.add(Histogram());
    expect_same(sum, of(numbers));
  }
}

TEST(HistogramTest, CountsNumbersThatComeOften) {
  Histogram h(256, 0);
  h.add(-3, 5);
  h.add(2, 0);
  h.add(250, 7);
  EXPECT_EQ(h.width(), 1);  // no finer than 2^0
  EXPECT_EQ(h.begin(), -3);
  EXPECT_EQ(h.counts().size(), 254);
  EXPECT_EQ(h.counts().front(), 5);
  EXPECT_EQ(h.counts().back(), 7);
  EXPECT_EQ(h.least(), -3);
  EXPECT_EQ(h.greatest(), 250);
}

TEST(HistogramTest, MakesFewerBinsOfMany) {
  for (const auto& numbers : samples()) {
    expect_same(of(numbers, 256).coarser(8), of(numbers, 8));
  }
  EXPECT_TRUE(Histogram().coarser(8).empty());
}

}  // namespace
}  // namespace dequant::format
