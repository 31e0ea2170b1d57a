// The documented rules on every target against the reference: every code of up to 16 bits, ordinary
// and nasty ranges, and quotients as near to a tie as there are.
#include <gtest/gtest.h>

#include <cmath>

#include "element/codes.h"
#include "execute/ranges.h"
#include "kernel/formula_ways.h"
#include "kernel/kernel_check.h"

namespace dequant::formula_test {
namespace {

using testing::float_of;
using testing::Random;
using enum Element;

constexpr Rule kRules[] = {Rule::documented_min_combined, Rule::documented_min_first,
                           Rule::documented_scaled};

std::vector<uint8_t> results_of(const Table& table, Element x, const std::vector<uint8_t>& codes,
                                const AffineFormula& formula) {
  const size_t count = codes.size() * 8 / static_cast<size_t>(bits(x));
  std::vector<uint8_t> y(count * 4);
  KernelArgs args{codes.data(), y.data(), count};
  args.formula = &formula;
  table.formula_at(x)(args);
  return y;
}

/// All targets give the bytes of the reference.
void expect_same(Element x, const std::vector<uint8_t>& codes, const AffineFormula& formula) {
  const auto want = results_of(*table_of("reference"), x, codes, formula);
  for (const std::string_view target : targets()) {
    ASSERT_TRUE(results_of(*table_of(target), x, codes, formula) == want)
        << target << " " << name(x) << ": " << formula.base << " + (x - " << formula.shift << ") * "
        << formula.factor << " / " << formula.divisor;
  }
}

template <class T>
std::vector<uint8_t> bytes_of(const std::vector<T>& codes) {
  std::vector<uint8_t> bytes(codes.size() * sizeof(T));
  std::memcpy(bytes.data(), codes.data(), bytes.size());
  return bytes;
}

/// Every code of 8 bits, in so many elements that kernels first compute all 256 results; every code
/// of 16 bits; of 32 bits the extremes and random codes.
std::vector<uint8_t> codes_of(Element x) {
  std::vector<uint32_t> codes;
  for (uint32_t code = 0; code < 0x10000; ++code) codes.push_back(code);
  if (bits(x) == 8) return bytes_of(std::vector<uint8_t>(codes.begin(), codes.begin() + 4096));
  if (bits(x) == 16) return bytes_of(std::vector<uint16_t>(codes.begin(), codes.end()));
  codes = {0, 1, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x01000001};
  Random random(3);
  while (codes.size() < 1000) codes.push_back(static_cast<uint32_t>(random.bits()));
  return bytes_of(codes);
}

struct Ranges {
  float min;
  float max;
};

/// As models have them, one end tiny or zero, zero far outside, reversed, any bits.
Ranges random_ranges(Random& random) {
  const auto near_one = [&] {
    return float_of(static_cast<uint32_t>(random.in(0x3B000000, 0x43000000)));
  };
  switch (random.in(0, 5)) {
    case 0: return {-near_one() * 1e-9F, near_one()};
    case 1: return {random.coin() ? 0.0F : -0.0F, near_one()};
    case 2: return {1000 * near_one(), 1001 * near_one()};
    case 3: return {near_one(), -near_one()};
    case 4: return {float_of(random_scale(random)), float_of(random_scale(random))};
    default: return {-near_one(), near_one()};
  }
}

TEST(FormulaKernel, GivesEveryCodeTheBitsOfTheReferenceOnEveryTarget) {
  Random random(1);
  for (const Element x : kRangeElements) {
    const std::vector<uint8_t> codes = codes_of(x);
    for (int i = 0; i < (bits(x) == 16 ? 12 : 150); ++i) {
      const Ranges r = random_ranges(random);
      for (const Rule rule : kRules) {
        ASSERT_NO_FATAL_FAILURE(expect_same(x, codes, documented_formula(rule, x, r.min, r.max)));
      }
    }
  }
}

TEST(FormulaKernel, TakesEveryPairOfEdgeRanges) {
  for (const Element x : {uint8, int8, int32}) {
    const std::vector<uint8_t> codes = codes_of(x);
    for (const uint32_t min : testing::edge_scales()) {
      for (const uint32_t max : testing::edge_scales()) {
        for (const Rule rule : kRules) {
          const AffineFormula formula = documented_formula(rule, x, float_of(min), float_of(max));
          ASSERT_NO_FATAL_FAILURE(expect_same(x, codes, formula));
        }
      }
    }
  }
}

/// A double whose quotient by the divisor is within a hair of the middle between two doubles.
double almost_tie(Random& random, double divisor) {
  const auto even = static_cast<double>(((random.bits() >> 11) | (uint64_t{1} << 52)) * 2);
  const double nearest = std::fma(even, divisor, divisor);  // (even + 1) * divisor
  return random.coin() ? nearest : std::nextafter(nearest, random.coin() ? HUGE_VAL : 0.0);
}

TEST(FormulaKernel, QuotientsAreRoundedInDouble) {
  // Base cancels the quotient of one code, so that a wrong last bit of it is all that is left.
  Random random(2);
  const uint64_t divisors[] = {65535, 0xFFFFFFFF, 255, 3, 7, 10, 0xFFFFFFFE, uint64_t{1} << 32};
  for (int i = 0; i < 60000; ++i) {
    const auto divisor =
        static_cast<double>(i % 2 == 0 ? random.of(std::span(divisors)) : random.bits() >> 32);
    const bool tie = random.coin();
    const auto code = static_cast<int16_t>(tie ? 1 : random.bits());
    const double factor = tie ? almost_tie(random, divisor)
                              : std::ldexp(static_cast<double>(random.bits() >> 11),
                                           static_cast<int>(random.in(-90, 0)));
    const AffineFormula formula{
        .shift = 0, .factor = factor, .divisor = divisor, .base = -(code * factor / divisor)};
    ASSERT_NO_FATAL_FAILURE(expect_same(int16, bytes_of(std::vector<int16_t>{code}), formula));
  }
}

TEST(FormulaKernel, KeepsTheSignOfZero) {
  // The reciprocal of 10 is rounded up, those of the others down.
  const std::vector<uint8_t> codes = codes_of(int16);
  for (const double divisor : {1.0, 7.0, 10.0, 65535.0}) {
    for (const double factor : {1.5, -1.5, 0.0, -0.0}) {
      for (const double base : {0.0, -0.0}) {
        ASSERT_NO_FATAL_FAILURE(expect_same(int16, codes, {5, factor, divisor, base}));
      }
    }
  }
}

TEST(FormulaKernel, TakesDivisorsThatAreNoIntegersAndNumbersOfAnySize) {
  const auto nan = std::bit_cast<double>(UINT64_C(0xFFF8123456789ABC));
  Random random(4);
  const std::vector<uint8_t> codes = codes_of(int32);
  for (const double divisor :
       {0.0, -0.0, -255.0, 255.5, 0x1p33 + 3, 0x1p-1060, 0x1p1000, HUGE_VAL, nan}) {
    for (const double factor :
         {1.0, -3.0, 0.0, -0.0, 0x1p-1070, 0x1p-501, 0x1p501, 0x1p1023, HUGE_VAL}) {
      for (const double base : {0.0, 1.5, 0x1p-1070, -0x1p1023, -HUGE_VAL, nan}) {
        ASSERT_NO_FATAL_FAILURE(expect_same(int32, codes, {-1, factor, divisor, base}));
        ASSERT_NO_FATAL_FAILURE(expect_same(int32, codes, {-1, factor, 65535, base}));
        ASSERT_NO_FATAL_FAILURE(expect_same(int32, codes, {-1, factor, 1, base}));
      }
    }
  }
}

/// True if a SplitFormula, in float32, gives all 256 codes the bits of the affine formula.
bool agrees(Element x, const AffineFormula& formula) {
  const int32_t lowest = x == int8 ? -128 : 0;
  const SplitFormula split = split_formula(formula, lowest);
  for (int32_t code = lowest; code < lowest + 256; ++code) {
    const auto d = static_cast<float>(code - split.centre);
    const float large = std::fma(d, split.step, split.base);
    const float small = std::fma(d, split.small_step, split.small_base);
    const uint32_t want = reference_formula(x, static_cast<uint32_t>(code) & 0xFF, formula);
    if (testing::bits_of(large + small) != want) return false;
  }
  return true;
}

TEST(SplitFormula, HasTheBitsOfAllCodesOfNearlyAllLines) {
  Random random(5);
  int agreed = 0;
  for (int i = 0; i < 3000; ++i) {
    const Element x = random.coin() ? uint8 : int8;
    const auto near_one = [&] {
      return float_of(static_cast<uint32_t>(random.in(0x3B000000, 0x43000000)));
    };
    const float min = random.in(0, 3) == 0 ? 0.0F : random.in(0, 5) == 0 ? near_one() : -near_one();
    agreed += agrees(x, documented_formula(random.of(std::span(kRules)), x, min, near_one()));
  }
  EXPECT_GE(agreed, 2940);
  RecordProperty("agreed", agreed);
}

}  // namespace
}  // namespace dequant::formula_test
