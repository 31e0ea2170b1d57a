// The types of the specification and the elements that they are.
#include "format/safetensors/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"

namespace dequant::format::safetensors {
namespace {

using testing::is_invalid;

TEST(SafetensorsDTypeTest, ElementsByTheNamesOfFiles) {
  const std::pair<const char*, Element> rows[]{
      {"F4", Element::float4e2m1},
      {"F6_E2M3", Element::float6e2m3},
      {"F6_E3M2", Element::float6e3m2},
      {"U8", Element::uint8},
      {"I8", Element::int8},
      {"F8_E5M2", Element::float8e5m2},
      {"F8_E4M3", Element::float8e4m3fn},
      {"F8_E4M3FNUZ", Element::float8e4m3fnuz},
      {"F8_E8M0", Element::float8e8m0},
      {"F8_E5M2FNUZ", Element::float8e5m2fnuz},
      {"I16", Element::int16},
      {"U16", Element::uint16},
      {"F16", Element::float16},
      {"BF16", Element::bfloat16},
      {"I32", Element::int32},
      {"U32", Element::uint32},
      {"F32", Element::float32},
  };
  for (const auto& [name, element] : rows) {
    const DType* dtype = find_dtype(name);
    ASSERT_NE(dtype, nullptr) << name;
    EXPECT_EQ(dtype->element, element) << name;
    EXPECT_EQ(dtype->bits, bits(element)) << name;
    EXPECT_EQ(dtype_of(element), dtype) << name;
  }
  EXPECT_EQ(dtypes().size(), std::size(rows) + 5);
}

TEST(SafetensorsDTypeTest, TypesWithoutAnElement) {
  const std::pair<const char*, int> rows[]{
      {"BOOL", 8}, {"C64", 64}, {"F64", 64}, {"I64", 64}, {"U64", 64}};
  for (const auto& [name, width] : rows) {
    const DType* dtype = find_dtype(name);
    ASSERT_NE(dtype, nullptr) << name;
    EXPECT_FALSE(dtype->element) << name;
    EXPECT_EQ(dtype->bits, width) << name;
  }
}

TEST(SafetensorsDTypeTest, ElementsWithoutAType) {
  for (const Element element : {Element::uint4, Element::int4, Element::uint2, Element::int2}) {
    EXPECT_EQ(dtype_of(element), nullptr) << name(element);
  }
}

TEST(SafetensorsDTypeTest, WiderTypesComeLater) {
  // So that data in the opposite order are aligned. BOOL is the one that does not matter.
  const auto types = dtypes().subspan(1);
  EXPECT_TRUE(std::is_sorted(types.begin(), types.end(),
                             [](const DType& a, const DType& b) { return a.bits < b.bits; }));
}

TEST(SafetensorsDTypeTest, BytesOfAShape) {
  const std::vector<int64_t> shape{2, 3, 4};
  EXPECT_EQ(bytes_of(*find_dtype("F4"), shape).value(), 12);
  EXPECT_EQ(bytes_of(*find_dtype("F6_E2M3"), shape).value(), 18);
  EXPECT_EQ(bytes_of(*find_dtype("BOOL"), shape).value(), 24);
  EXPECT_EQ(bytes_of(*find_dtype("BF16"), shape).value(), 48);
  EXPECT_EQ(bytes_of(*find_dtype("C64"), shape).value(), 192);
  EXPECT_EQ(bytes_of(*find_dtype("F64"), {}).value(), 8);
  EXPECT_TRUE(is_invalid(bytes_of(*find_dtype("F4"), {}), "end within a byte"));
  const std::vector<int64_t> negative{2, -1};
  EXPECT_TRUE(is_invalid(bytes_of(*find_dtype("U8"), negative), "negative"));
}

}  // namespace
}  // namespace dequant::format::safetensors
