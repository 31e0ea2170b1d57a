// The range of floats, against a loop over their values.
#include "format/model/value_range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace dequant::format {
namespace {

template <class Code>
std::span<const std::byte> span_of(const std::vector<Code>& codes) {
  return std::as_bytes(std::span(codes));
}

/// The same from the definition: values of codes one by one.
template <class Code>
ValueRange plain(Element element, const std::vector<Code>& codes) {
  ValueRange range;
  for (const Code code : codes) {
    const auto value = static_cast<float>(value_of(element, code));
    if (std::isnan(value)) {
      ++range.nan;
    } else if (std::isinf(value)) {
      ++range.infinity;
    } else {
      range.least = range.least ? std::min(*range.least, value) : value;
      range.greatest = range.greatest ? std::max(*range.greatest, value) : value;
    }
  }
  return range;
}

void expect_equal(const ValueRange& got, const ValueRange& want) {
  EXPECT_EQ(got.nan, want.nan);
  EXPECT_EQ(got.infinity, want.infinity);
  EXPECT_EQ(got.least, want.least);
  EXPECT_EQ(got.greatest, want.greatest);
}

class HalfRange : public testing::TestWithParam<Element> {};

TEST_P(HalfRange, OfEveryCodeAlone) {
  for (uint32_t code = 0; code <= 0xFFFF; ++code) {
    const std::vector<uint16_t> one{static_cast<uint16_t>(code)};
    ValueRange got;
    got.add(GetParam(), span_of(one));
    expect_equal(got, plain(GetParam(), one));
    EXPECT_TRUE(!got.least || std::signbit(*got.least) == (code >> 15 == 1));
  }
}

TEST_P(HalfRange, OfAnyNumberOfCodes) {
  std::mt19937 random(3);
  for (const size_t count :
       {size_t{0}, size_t{1}, size_t{7}, size_t{1023}, size_t{1024}, size_t{1025}, size_t{5000}}) {
    std::vector<uint16_t> codes(count);
    for (uint16_t& code : codes) code = static_cast<uint16_t>(random());
    ValueRange got;
    got.add(GetParam(), span_of(codes));
    expect_equal(got, plain(GetParam(), codes));
  }
}

TEST_P(HalfRange, ManyNaNInOnePart) {
  const std::vector<uint16_t> codes(100'000, 0xFFFF);
  ValueRange got;
  got.add(GetParam(), span_of(codes));
  EXPECT_EQ(got.nan, 100'000);
  EXPECT_FALSE(got.least || got.greatest);
}

INSTANTIATE_TEST_SUITE_P(, HalfRange, testing::Values(Element::float16, Element::bfloat16),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST(ValueRange, OfFloat32) {
  std::mt19937 random(4);
  std::vector<uint32_t> codes(10'000);
  for (uint32_t& code : codes) code = static_cast<uint32_t>(random());
  codes[17] = 0x7F800000;
  codes[18] = 0xFF800000;
  codes[19] = 0x7FC00000;
  ValueRange got;
  got.add(Element::float32, span_of(codes));
  expect_equal(got, plain(Element::float32, codes));
}

TEST(ValueRange, PartsInAnyOrder) {
  const std::vector<float> a{1.0F, -0.0F};
  const std::vector<float> b{0.0F, std::numeric_limits<float>::infinity()};
  ValueRange ab, ba, other;
  ab.add(Element::float32, span_of(a));
  ab.add(Element::float32, span_of(b));
  ba.add(Element::float32, span_of(b));
  other.add(Element::float32, span_of(a));
  ba.add(other);
  expect_equal(ab, ba);
  EXPECT_TRUE(std::signbit(*ba.least));
}

}  // namespace
}  // namespace dequant::format
