// The parts of the kernels that replace divisions, tables and slow roundings.
#include <gtest/gtest.h>

#include "cuda/plan/divisor.h"
#include "cuda/thread/codes.h"
#include "cuda/thread/narrow.h"
#include "element/traits.h"
#include "support/random.h"

namespace dequant::cuda::parts_test {
namespace {

using dequant::testing::Random;
using enum Element;

TEST(CudaDivisor, GivesTheQuotientOfEveryKindOfNumber) {
  Random random(1);
  const auto number = [&] {
    const int width = static_cast<int>(random.in(1, 63));
    const auto top = uint64_t{1} << (width - 1);
    return static_cast<int64_t>(top | (random.bits() & (top - 1)));
  };
  const auto expect = [](int64_t n, int64_t d) {
    ASSERT_EQ(Divisor(d).quotient(n), n / d) << n << " / " << d;
  };
  for (int i = 0; i < 200000; ++i) {
    const int64_t d = number();
    ASSERT_NO_FATAL_FAILURE(expect(number(), d));
    ASSERT_NO_FATAL_FAILURE(expect(number() / d * d, d));
    ASSERT_NO_FATAL_FAILURE(expect(std::max<int64_t>(number() / d * d, 1) - 1, d));
    ASSERT_NO_FATAL_FAILURE(expect(INT64_MAX, d));
    ASSERT_NO_FATAL_FAILURE(expect(INT64_MAX / d * d, d));
    ASSERT_NO_FATAL_FAILURE(expect(0, d));
  }
  for (int64_t d = 1; d < 70; ++d) {
    for (int64_t n = 0; n < 300; ++n) ASSERT_NO_FATAL_FAILURE(expect(n, d));
    ASSERT_NO_FATAL_FAILURE(expect(INT64_MAX, d));
  }
  ASSERT_NO_FATAL_FAILURE(expect(INT64_MAX, INT64_MAX));
  ASSERT_NO_FATAL_FAILURE(expect(INT64_MAX - 1, INT64_MAX));
}

TEST(CudaCodes, EveryCodeOfEveryFloatHasItsValue) {
  for (const Element x : elements()) {
    if (kind(x) != Kind::floating || bits(x) > 16) continue;
    const FloatFormat format = traits(x).format;
    for (uint32_t code = 0; code < uint32_t{1} << bits(x); ++code) {
      const float want = decode_float(format, code);
      const float got = float_of(format, code);
      if (want != want) {
        EXPECT_NE(got, got) << name(x) << " " << code;
      } else {
        EXPECT_EQ(bits_of(got), bits_of(want)) << name(x) << " " << code;
      }
    }
  }
}

/// All upper halves of a float32, with lower halves around every tie.
TEST(CudaNarrow, RoundsAsTheReferenceDoes) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x0FFFu, 0x1000u, 0x1001u, 0x2FFFu, 0x3000u,
                                 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const uint32_t bits = upper << 16 | lower;
      const auto value = std::bit_cast<float>(bits);
      ASSERT_EQ(narrow_bfloat16(value), encode_float(traits(bfloat16).format, value)) << bits;
      ASSERT_EQ(narrow_float16(value), encode_float(traits(float16).format, value)) << bits;
      ASSERT_EQ(narrow_float32(value), encode_float(traits(float32).format, value)) << bits;
    }
  }
}

}  // namespace
}  // namespace dequant::cuda::parts_test
