// The element list: names, numbers, sizes and roles, against the specification's own table.
#include "dequant/element.h"

#include <gtest/gtest.h>

#include <set>

#include "support/print.h"

namespace dequant::element_test {
namespace {

using enum Element;

/// onnx.TensorProto.DataType, and the widths its documentation gives.
struct Row {
  Element element;
  std::string_view name;
  int onnx;
  int bits;
  Kind kind;
};
constexpr Row kRows[] = {
    {uint8, "uint8", 2, 8, Kind::unsigned_integer},
    {int8, "int8", 3, 8, Kind::signed_integer},
    {uint16, "uint16", 4, 16, Kind::unsigned_integer},
    {int16, "int16", 5, 16, Kind::signed_integer},
    {uint32, "uint32", 12, 32, Kind::unsigned_integer},
    {int32, "int32", 6, 32, Kind::signed_integer},
    {uint4, "uint4", 21, 4, Kind::unsigned_integer},
    {int4, "int4", 22, 4, Kind::signed_integer},
    {uint2, "uint2", 25, 2, Kind::unsigned_integer},
    {int2, "int2", 26, 2, Kind::signed_integer},
    {float8e4m3fn, "float8e4m3fn", 17, 8, Kind::floating},
    {float8e4m3fnuz, "float8e4m3fnuz", 18, 8, Kind::floating},
    {float8e5m2, "float8e5m2", 19, 8, Kind::floating},
    {float8e5m2fnuz, "float8e5m2fnuz", 20, 8, Kind::floating},
    {float4e2m1, "float4e2m1", 23, 4, Kind::floating},
    {float6e2m3, "float6e2m3", 27, 6, Kind::floating},
    {float6e3m2, "float6e3m2", 28, 6, Kind::floating},
    {float8e8m0, "float8e8m0", 24, 8, Kind::floating},
    {float16, "float16", 10, 16, Kind::floating},
    {bfloat16, "bfloat16", 16, 16, Kind::floating},
    {float32, "float32", 1, 32, Kind::floating},
};

TEST(Element, HasTheNameNumberAndSizeOfTheSpecification) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(name(row.element), row.name);
    EXPECT_EQ(onnx_code(row.element), row.onnx);
    EXPECT_EQ(bits(row.element), row.bits);
    EXPECT_EQ(kind(row.element), row.kind);
  }
}

TEST(Element, ListHoldsEveryElementOnceInTheOrderOfTheEnumeration) {
  ASSERT_EQ(elements().size(), std::size(kRows));
  for (size_t i = 0; i < elements().size(); ++i) EXPECT_EQ(static_cast<size_t>(elements()[i]), i);
}

TEST(Element, NameAndNumberLeadBackToTheElement) {
  std::set<std::string_view> names;
  std::set<int> codes;
  for (const Element e : elements()) {
    EXPECT_EQ(element_from_name(name(e)), e);
    EXPECT_EQ(element_from_onnx(onnx_code(e)), e);
    names.insert(name(e));
    codes.insert(onnx_code(e));
  }
  EXPECT_EQ(names.size(), elements().size());
  EXPECT_EQ(codes.size(), elements().size());
}

TEST(Element, UnknownNamesAreNoElement) {
  for (const std::string_view unknown : {"", "Int8", "INT8", "int8 ", " int8", "int", "int88",
                                         "float", "float64", "fp16", "uint1"}) {
    EXPECT_EQ(element_from_name(unknown), std::nullopt) << unknown;
  }
  EXPECT_EQ(element_from_name(std::string_view("int8\0", 5)), std::nullopt);
}

TEST(Element, UnknownOnnxNumbersAreNoElement) {
  // 0 undefined, 7 int64, 8 string, 9 bool, 11 double, 13 uint64, 14 and 15 complex.
  for (const int64_t unknown : {0, 7, 8, 9, 11, 13, 14, 15, 29, 30, -1, 0x7fffffff}) {
    EXPECT_EQ(element_from_onnx(unknown), std::nullopt) << unknown;
  }
  for (const int64_t unknown : {INT64_MIN, INT64_MAX, (int64_t{1} << 32) + 3}) {
    EXPECT_EQ(element_from_onnx(unknown), std::nullopt) << unknown;
  }
}

TEST(Element, IsEitherInputOrOutputOrTheExponentScale) {
  for (const Element e : elements()) {
    const bool output = e == float32 || e == float16 || e == bfloat16;
    EXPECT_EQ(is_output(e), output) << name(e);
    EXPECT_EQ(is_input(e), !output && e != float8e8m0) << name(e);
  }
}

}  // namespace
}  // namespace dequant::element_test
