// Sizes of tensors: no product that wraps is ever accepted, in whatever order its factors stand.
#include <gtest/gtest.h>

#include "dequant/tensor.h"
#include "support/expect_error.h"
#include "support/spec_index.h"

namespace dequant::tensor_size_test {
namespace {

using testing::Dims;
using testing::is_invalid;
using enum Element;

TEST(ElementCount, MultipliesTheDimensions) {
  EXPECT_EQ(*element_count(Dims{}), 1) << "a scalar";
  EXPECT_EQ(*element_count(Dims{7}), 7);
  EXPECT_EQ(*element_count(Dims{2, 3, 4}), 24);
  EXPECT_EQ(*element_count(Dims{1, 1, 1, 1, 1, 1, 1, 1, 5}), 5);
  EXPECT_EQ(*element_count(Dims{INT64_MAX}), INT64_MAX);
  EXPECT_EQ(*element_count(Dims{int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
}

TEST(ElementCount, OfAZeroDimensionIsZero) {
  EXPECT_EQ(*element_count(Dims{0}), 0);
  EXPECT_EQ(*element_count(Dims{3, 0, 5}), 0);
  EXPECT_EQ(*element_count(Dims{0, INT64_MAX}), 0);
  EXPECT_EQ(*element_count(Dims{0, 0, 0}), 0);
}

TEST(ElementCount, RejectsNegativeDimensions) {
  for (const Dims& dims : {Dims{-1}, Dims{2, -3}, Dims{INT64_MIN}, Dims{0, -1}, Dims{-1, 0},
                           Dims{-2, -2}, Dims{INT64_MIN, INT64_MIN}}) {
    EXPECT_TRUE(is_invalid(element_count(dims), "negative"));
  }
}

TEST(ElementCount, RejectsProductsThatOverflow) {
  const int64_t k30 = int64_t{1} << 30;
  const int64_t k32 = int64_t{1} << 32;
  const int64_t k40 = int64_t{1} << 40;
  for (const Dims& dims : {Dims{k32, k32}, Dims{k40, k30}, Dims{INT64_MAX, 2}, Dims{2, INT64_MAX},
                           Dims{int64_t{1} << 62, 2}, Dims{k32, k32, k32, k32},
                           Dims{4194305, 4194305, 211106198978564}}) {
    EXPECT_TRUE(is_invalid(element_count(dims), "2^63"));
  }
}

TEST(ElementCount, LetsNoZeroHideAnOverflow) {
  const int64_t k40 = int64_t{1} << 40;
  for (const Dims& dims : {Dims{0, k40, k40}, Dims{k40, k40, 0}, Dims{k40, 0, k40}}) {
    EXPECT_TRUE(is_invalid(element_count(dims), "2^63"));
  }
}

TEST(PackedBytes, RoundsUpToWholeBytes) {
  EXPECT_EQ(*packed_bytes(int4, 0), 0);
  EXPECT_EQ(*packed_bytes(int4, 1), 1);
  EXPECT_EQ(*packed_bytes(int4, 2), 1);
  EXPECT_EQ(*packed_bytes(int4, 3), 2);
  EXPECT_EQ(*packed_bytes(float4e2m1, 7), 4);
  EXPECT_EQ(*packed_bytes(uint2, 4), 1);
  EXPECT_EQ(*packed_bytes(uint2, 5), 2);
  EXPECT_EQ(*packed_bytes(int8, 5), 5);
  EXPECT_EQ(*packed_bytes(float16, 5), 10);
  EXPECT_EQ(*packed_bytes(float32, 5), 20);
}

TEST(PackedBytes, AgreesWithBitsForSmallCounts) {
  for (const Element e : elements()) {
    for (int64_t n = 0; n < 70; ++n) EXPECT_EQ(*packed_bytes(e, n), (n * bits(e) + 7) / 8);
  }
}

TEST(PackedBytes, RejectsWhatOverflows) {
  EXPECT_TRUE(is_invalid(packed_bytes(float32, int64_t{1} << 61), "bytes"));
  EXPECT_TRUE(is_invalid(packed_bytes(float16, int64_t{1} << 62), "bytes"));
  EXPECT_TRUE(is_invalid(packed_bytes(int32, INT64_MAX), "bytes"));
  EXPECT_TRUE(is_invalid(packed_bytes(int8, -1), "negative"));
  EXPECT_TRUE(is_invalid(packed_bytes(int4, INT64_MIN), "negative"));
}

TEST(PackedBytes, ReachesTheLargestCounts) {
  EXPECT_EQ(*packed_bytes(int2, INT64_MAX), (int64_t{1} << 61));
  EXPECT_EQ(*packed_bytes(int4, INT64_MAX), (int64_t{1} << 62));
  EXPECT_EQ(*packed_bytes(int8, INT64_MAX), INT64_MAX);
  EXPECT_EQ(*packed_bytes(float32, (int64_t{1} << 61) - 1), INT64_MAX - 3);
}

TEST(ErrorCode, HasItsNameOfTheEnumeration) {
  EXPECT_STREQ(name(ErrorCode::invalid_argument), "invalid_argument");
  EXPECT_STREQ(name(ErrorCode::malformed), "malformed");
  EXPECT_STREQ(name(ErrorCode::limit), "limit");
  EXPECT_STREQ(name(ErrorCode::unsupported), "unsupported");
  EXPECT_STREQ(name(ErrorCode::io), "io");
  EXPECT_STREQ(name(ErrorCode::out_of_memory), "out_of_memory");
}

TEST(Result, ThrowsItsErrorOnlyWhenAskedForAMissingValue) {
  EXPECT_EQ(element_count(Dims{2, 3}).value(), 6);
  try {
    (void)element_count(Dims{-1}).value();
    FAIL() << "no exception";
  } catch (const Exception& e) {
    EXPECT_EQ(e.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(e.error().message, e.what());
  }
}

}  // namespace
}  // namespace dequant::tensor_size_test
