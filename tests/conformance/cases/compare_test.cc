// When two outputs are the same, and how a difference is told.
#include "conformance/cases/compare.h"

#include <gtest/gtest.h>

#include "conformance/cases/outcome.h"
#include "support/packed.h"

namespace dequant::conformance {

using format::TensorData;

namespace {

using enum Element;

TensorData tensor(Element element, std::vector<int64_t> shape, const std::vector<uint32_t>& codes) {
  return {element, std::move(shape), testing::pack(element, codes)};
}

TEST(Close, EqualBitsAreEqual) {
  for (const Element element : elements()) {
    EXPECT_TRUE(close(element, 1, 1, {}));
    EXPECT_FALSE(close(element, 1, 2, {})) << name(element);
  }
}

TEST(Close, NaNsAreOneClass) {
  EXPECT_TRUE(close(float32, 0x7FC00000, 0xFF800001, {}));
  EXPECT_TRUE(close(float16, 0x7E00, 0xFC01, {}));
  EXPECT_TRUE(close(bfloat16, 0x7FC0, 0xFF81, {}));
  EXPECT_TRUE(close(float8e4m3fn, 0x7F, 0xFF, {}));
  EXPECT_FALSE(close(float32, 0x7FC00000, 0x7F800000, {}));
  EXPECT_FALSE(close(float32, 0x7F800000, 0x7FC00000, {}));
  // The first NaN is the number after infinity, but no distance away from it.
  EXPECT_FALSE(close(float32, 0x7F800001, 0x7F800000, {.ulp = 5}));
  EXPECT_FALSE(close(float16, 0x7C00, 0x7C01, {.ulp = 5}));
}

TEST(Close, UlpCountsFloatsOfTheOutputType) {
  for (const Element element : {float32, float16, bfloat16}) {
    EXPECT_FALSE(close(element, 0x3C01, 0x3C02, {.ulp = 0}));
    EXPECT_TRUE(close(element, 0x3C01, 0x3C02, {.ulp = 1}));
    EXPECT_FALSE(close(element, 0x3C01, 0x3C03, {.ulp = 1}));
    EXPECT_TRUE(close(element, 0x3C03, 0x3C01, {.ulp = 2}));
  }
  // Across a power of two, and from the largest finite number to infinity.
  EXPECT_TRUE(close(float32, 0x3F800000, 0x3F7FFFFF, {.ulp = 1}));
  EXPECT_TRUE(close(float16, 0x7C00, 0x7BFF, {.ulp = 1}));
  EXPECT_FALSE(close(float16, 0x7C00, 0xFC00, {.ulp = 1000}));
}

TEST(Close, UlpCountsAcrossZero) {
  // -1, 0 and 1 times the smallest subnormal.
  EXPECT_TRUE(close(float32, 0x80000001, 0x00000001, {.ulp = 2}));
  EXPECT_FALSE(close(float32, 0x80000001, 0x00000001, {.ulp = 1}));
  EXPECT_TRUE(close(float32, 0x80000000, 0x00000001, {.ulp = 1}));
  EXPECT_TRUE(close(float32, 0x80000001, 0x00000000, {.ulp = 1}));
}

TEST(Close, TheSignOfZeroCountsUnlessIgnored) {
  for (const auto& [element, minus] : {std::pair{float32, 0x80000000u}, std::pair{float16, 0x8000u},
                                       std::pair{bfloat16, 0x8000u}}) {
    EXPECT_FALSE(close(element, minus, 0, {}));
    EXPECT_FALSE(close(element, minus, 0, {.ulp = 3}));
    EXPECT_TRUE(close(element, minus, 0, {.ignore_zero_sign = true}));
    EXPECT_TRUE(close(element, 0, minus, {.ignore_zero_sign = true}));
    EXPECT_FALSE(close(element, minus, 1, {.ignore_zero_sign = true}));
  }
}

TEST(Close, IntegersHaveNoTolerance) {
  EXPECT_FALSE(close(int8, 1, 2, {.ulp = 9, .ignore_zero_sign = true}));
  EXPECT_FALSE(close(int8, 0x80, 0, {.ulp = 9, .ignore_zero_sign = true}));
}

TEST(Compare, FindsNothingBetweenEqualTensors) {
  const TensorData a = tensor(float16, {2, 2}, {0x3C00, 0x7E00, 0, 1});
  const TensorData b = tensor(float16, {2, 2}, {0x3C00, 0xFE01, 0, 1});
  EXPECT_FALSE(compare(a, b, {}).has_value());
  EXPECT_FALSE(compare(tensor(float32, {0, 3}, {}), tensor(float32, {0, 3}, {}), {}).has_value());
}

TEST(Compare, CountsDifferencesAndNamesTheFirst) {
  const TensorData a = tensor(float32, {2, 3}, {0, 1, 2, 3, 4, 5});
  const TensorData b = tensor(float32, {2, 3}, {0, 1, 2, 3, 9, 9});
  const auto difference = compare(a, b, {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(difference->count, 2);
  EXPECT_EQ(difference->total, 6);
  EXPECT_EQ(difference->index, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(difference->actual, 4u);
  EXPECT_EQ(difference->expected, 9u);
}

TEST(Compare, WorksOnPackedElements) {
  const auto difference =
      compare(tensor(int4, {5}, {1, 2, 3, 15, 5}), tensor(int4, {5}, {1, 2, 3, 4, 5}), {});
  ASSERT_TRUE(difference.has_value());
  EXPECT_EQ(describe(*difference),
            "differs in 1 of 5 elements, first at [3]: -1 (0xf) where 4 (0x4) is expected");
}

TEST(Describe, ShowsValuesWithAllTheirDigits) {
  EXPECT_EQ(describe_value(float32, 0x3DCCCCCD), "0.100000001");
  EXPECT_EQ(describe_value(float32, 0x80000000), "-0");
  EXPECT_EQ(describe_value(float32, 0x7F800000), "inf");
  EXPECT_EQ(describe_value(float32, 0x7FC00000), "nan");
  EXPECT_EQ(describe_value(float16, 0x0001), "5.96046448e-08");
  EXPECT_EQ(describe_value(bfloat16, 0xBF80), "-1");
  EXPECT_EQ(describe_value(uint32, 0xFFFFFFFF), "4294967295");
  EXPECT_EQ(describe_value(int32, 0x80000000), "-2147483648");
  EXPECT_EQ(describe_value(int2, 3), "-1");
  EXPECT_EQ(describe_bits(float32, 1), "0x00000001");
  EXPECT_EQ(describe_bits(float16, 0xABC), "0x0abc");
  EXPECT_EQ(describe_bits(int2, 3), "0x3");
}

TEST(Judge, AnotherTypeOrShapeFailsBeforeAnyElement) {
  const TensorData a = tensor(float32, {2, 1}, {0, 0});
  EXPECT_EQ(judge("y", a, a, {}).verdict, Verdict::passed);
  const Outcome shape = judge("y", a, tensor(float32, {2}, {0, 0}), {});
  EXPECT_EQ(shape.verdict, Verdict::failed);
  EXPECT_EQ(shape.reason, "y is float32[2, 1] where float32[2] is expected");
  const Outcome type = judge("y", a, tensor(float16, {2, 1}, {0, 0}), {});
  EXPECT_EQ(type.reason, "y is float32[2, 1] where float16[2, 1] is expected");
  EXPECT_FALSE(type.difference.has_value());
}

TEST(Judge, SaysWhatDiffers) {
  const Outcome outcome =
      judge("y", tensor(float32, {1}, {0x3F800000}), tensor(float32, {1}, {0x40000000}), {});
  EXPECT_EQ(outcome.verdict, Verdict::failed);
  EXPECT_EQ(outcome.reason,
            "y differs in 1 of 1 elements, first at [0]: 1 (0x3f800000) where 2 (0x40000000) is "
            "expected");
  EXPECT_TRUE(outcome.difference.has_value());
}

}  // namespace
}  // namespace dequant::conformance
