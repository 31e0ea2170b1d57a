// Every code of every element up to 16 bits, and every rounding case of the 16-bit outputs, on
// every target against the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>

#include "element/codes.h"
#include "kernel/kernel_check.h"

namespace dequant::exhaustive_test {
namespace {

using testing::bits_of;
using testing::float_of;
using enum Element;

/// The output of one call of a kernel.
std::vector<uint8_t> output_of(const Table& table, Element x, Element y, ScaleLayout scale_layout,
                               size_t count, const std::vector<uint8_t>& codes, const float* scale,
                               const int32_t* zero) {
  std::vector<uint8_t> bytes(count * static_cast<size_t>(bits(y)) / 8);
  KernelArgs args{codes.data(), bytes.data(), count, count, scale, zero, lut_of(x)};
  const size_t scales = scale_layout == ScaleLayout::per_group ? 1 : count;
  args.finite_normal = testing::all_finite_normal(x, scale, scales);
  args.scales_of_y = testing::all_of_y(y, scale, scales);
  table.at(x, y, scale_layout)(args);
  return bytes;
}

/// All targets give the bytes of the reference.
void expect_same(Element x, Element y, ScaleLayout scale_layout, size_t count,
                 const std::vector<uint8_t>& codes, const float* scale, const int32_t* zero) {
  const auto want =
      output_of(*table_of("reference"), x, y, scale_layout, count, codes, scale, zero);
  for (const std::string_view target : targets()) {
    ASSERT_TRUE(output_of(*table_of(target), x, y, scale_layout, count, codes, scale, zero) == want)
        << target << " " << name(x) << " to " << name(y) << ", scale " << bits_of(*scale);
  }
}

/// Every code of an element: all bytes, or all pairs of bytes.
std::vector<uint8_t> every_code(Element x) {
  std::vector<uint8_t> bytes;
  for (uint32_t code = 0; code < (bits(x) == 16 ? 0x10000u : 0x100u); ++code) {
    bytes.push_back(static_cast<uint8_t>(code));
    if (bits(x) == 16) bytes.push_back(static_cast<uint8_t>(code >> 8));
  }
  return bytes;
}

std::vector<int32_t> zeros_of(Element x) {
  if (kind(x) == Kind::floating) return {0};
  const int32_t half = 1 << (bits(x) - 1);
  return kind(x) == Kind::signed_integer ? std::vector<int32_t>{0, -half, half - 1}
                                         : std::vector<int32_t>{0, half, 2 * half - 1};
}

TEST(Exhaustive, EveryCodeGivesTheSameBitsOnEveryTarget) {
  for (const Element x : elements().first(kInputs)) {
    if (bits(x) > 16) continue;
    const std::vector<uint8_t> codes = every_code(x);
    const size_t count = codes.size() * 8 / static_cast<size_t>(bits(x));
    for (const Element y : kOutputElements) {
      for (const int32_t zero : zeros_of(x)) {
        for (const uint32_t scale : testing::edge_scales()) {
          const float s = float_of(scale);
          expect_same(x, y, ScaleLayout::per_group, count, codes, &s, &zero);
        }
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// x and an output of 16 bits.
class Exhaustive16 : public ::testing::TestWithParam<std::tuple<Element, Element>> {};

std::string name_of(const ::testing::TestParamInfo<std::tuple<Element, Element>>& test) {
  return std::string(name(std::get<0>(test.param)))
      .append("_")
      .append(name(std::get<1>(test.param)));
}

INSTANTIATE_TEST_SUITE_P(Exhaustive, Exhaustive16,
                         ::testing::Combine(::testing::Values(uint8, int4, float8e4m3fn,
                                                              float8e5m2),
                                            ::testing::Values(float16, bfloat16)),
                         name_of);

/// Every scale of the output's own type with every difference of codes of 8 bits or fewer.
TEST_P(Exhaustive16, EveryScaleGivesTheSameBitsOnEveryTarget) {
  const auto [x, y] = GetParam();
  const std::vector<uint8_t> codes = every_code(x);
  const size_t count = codes.size() * 8 / static_cast<size_t>(bits(x));
  const std::vector<int32_t> zeros =
      x == uint8 ? std::vector<int32_t>{0, 255} : std::vector<int32_t>{0};
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float scale = float_value(y, code);
    for (const int32_t zero : zeros) {
      expect_same(x, y, ScaleLayout::per_group, count, codes, &scale, &zero);
    }
    if (HasFatalFailure()) return;
  }
}

/// All values of float16 or bfloat16, all midpoints between neighbours, and the float32 neighbours
/// of both: every way a product can round.
std::vector<float> rounding_cases(Element output) {
  std::vector<float> list;
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float value = float_value(output, code);
    // Both formats order codes of one sign by value, so the midpoint is half a step further out.
    const float next = float_value(output, (code & 0x7FFF) == 0x7FFF ? code : code + 1);
    const float midpoint = std::isfinite(next) ? value / 2 + next / 2 : value;
    for (const float v : {value, midpoint}) {
      list.insert(list.end(), {v, std::nextafter(v, INFINITY), std::nextafter(v, -INFINITY)});
    }
  }
  for (const float border :
       {65519.996F, 65520.0F, 65520.004F, 65535.0F, 65536.0F, 1e9F, 3.3961776e38F,
        float_of(0x7F7F8000), float_of(0x7F7F7FFF), float_of(0x7F7FFFFF)}) {
    list.insert(list.end(), {border, -border});
  }
  return list;
}

TEST(Exhaustive, EveryTieSubnormalAndOverflowRoundsAlikeOnEveryTarget) {
  for (const Element y : {float16, bfloat16}) {
    // The codes are 1, so that every scale is a product.
    const std::vector<float> scales = rounding_cases(y);
    const std::vector<int32_t> zeros(scales.size(), 0);
    const std::vector<uint8_t> ones(scales.size(), 1);
    expect_same(uint8, y, ScaleLayout::per_element, scales.size(), ones, scales.data(),
                zeros.data());
    std::vector<uint8_t> wide_ones;
    for (size_t i = 0; i < scales.size(); ++i) wide_ones.insert(wide_ones.end(), {1, 0});
    expect_same(int16, y, ScaleLayout::per_element, scales.size(), wide_ones, scales.data(),
                zeros.data());
  }
}

TEST(Exhaustive, ProductsOfEveryInt16CodeByPowersOfTwoRoundAlike) {
  // An odd code of 12 (float16) or 9 (bfloat16) bits times a power of two is a tie; a hair more or
  // less of scale is none. The powers span subnormals and overflow of both outputs.
  const std::vector<uint8_t> codes = every_code(int16);
  const int32_t zero = 0;
  for (const Element y : {float16, bfloat16}) {
    const int lowest = y == float16 ? -40 : -149;
    const int highest = y == float16 ? 6 : 127;
    for (int exponent = lowest; exponent <= highest; exponent += y == float16 ? 1 : 4) {
      const float power = std::ldexp(1.0F, exponent);
      for (const float s :
           {power, std::nextafter(power, INFINITY), std::nextafter(power, 0.0F), -1.5F * power}) {
        expect_same(int16, y, ScaleLayout::per_group, codes.size() / 2, codes, &s, &zero);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Exhaustive, ExtremesOf32BitCodesAndZeroPointsRoundOnce) {
  std::vector<uint32_t> values{0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x00FFFFFF};
  for (uint32_t shift = 22; shift < 32; ++shift) {
    for (const uint32_t delta : {0u, 1u, 2u, 3u, 0xFFFFFFFFu}) {
      values.push_back((uint32_t{1} << shift) + delta);
    }
  }
  testing::Random random(5);
  for (int i = 0; i < 500; ++i) values.push_back(static_cast<uint32_t>(random.bits()));
  std::vector<uint8_t> codes(values.size() * 4);
  std::memcpy(codes.data(), values.data(), codes.size());

  for (const Element x : {int32, uint32}) {
    for (const Element y : kOutputElements) {
      for (const uint32_t value : values) {
        const auto zero = static_cast<int32_t>(value);
        for (const float s : {1.0F, 3.0e-8F}) {
          expect_same(x, y, ScaleLayout::per_group, values.size(), codes, &s, &zero);
        }
      }
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace dequant::exhaustive_test
