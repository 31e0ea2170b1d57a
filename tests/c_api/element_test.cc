// Names and numbers: of elements, codes, targets and the version.
#include <climits>
#include <set>

#include "c_api/any_number.h"
#include "c_api/call.h"

namespace dequant::testing::c::element_test {
namespace {

struct Known {
  int number;
  const char* name;
  int bits;
};

// onnx.TensorProto.DataType, of ONNX 1.19, whose own names are these in capitals; widths by the
// specifications of the types.
constexpr Known kOnnx[] = {
    {1, "float32", 32},        {2, "uint8", 8},           {3, "int8", 8},
    {4, "uint16", 16},         {5, "int16", 16},          {6, "int32", 32},
    {10, "float16", 16},       {12, "uint32", 32},        {16, "bfloat16", 16},
    {17, "float8e4m3fn", 8},   {18, "float8e4m3fnuz", 8}, {19, "float8e5m2", 8},
    {20, "float8e5m2fnuz", 8}, {21, "uint4", 4},          {22, "int4", 4},
    {23, "float4e2m1", 4},     {24, "float8e8m0", 8},     {25, "uint2", 2},
    {27, "float6e2m3", 6},     {28, "float6e3m2", 6},     {26, "int2", 2},
};

TEST(CElement, NumbersAreThoseOfOnnx) {
  for (const Known& known : kOnnx) {
    EXPECT_STREQ(element_name_of_number(known.number), known.name);
    EXPECT_EQ(element_bits_of_number(known.number), known.bits) << known.name;
    EXPECT_EQ(static_cast<int>(dequant_element_from_name(known.name)), known.number);
  }
}

TEST(CElement, OtherNumbersAreNone) {
  std::set<int> numbers{INT_MIN, INT_MAX, 0x7FFFFF01, 65536 + 2};
  for (int n = -300; n < 300; ++n) numbers.insert(n);
  for (const Known& known : kOnnx) numbers.erase(known.number);
  for (const int n : numbers) {
    EXPECT_EQ(element_name_of_number(n), nullptr) << n;
    EXPECT_EQ(element_bits_of_number(n), 0) << n;
  }
}

TEST(CElement, OtherNamesAreNone) {
  for (const char* name : {"", "UINT8", "uint8 ", "uint", "float", "int64", "quint8"}) {
    EXPECT_EQ(dequant_element_from_name(name), DEQUANT_NO_ELEMENT) << name;
  }
  EXPECT_EQ(dequant_element_from_name(nullptr), DEQUANT_NO_ELEMENT);
}

TEST(CCode, HasAName) {
  EXPECT_STREQ(dequant_code_name(DEQUANT_OK), "ok");
  EXPECT_STREQ(dequant_code_name(DEQUANT_INVALID_ARGUMENT), "invalid_argument");
  EXPECT_STREQ(dequant_code_name(DEQUANT_MALFORMED), "malformed");
  EXPECT_STREQ(dequant_code_name(DEQUANT_LIMIT), "limit");
  EXPECT_STREQ(dequant_code_name(DEQUANT_UNSUPPORTED), "unsupported");
  EXPECT_STREQ(dequant_code_name(DEQUANT_IO), "io");
  EXPECT_STREQ(dequant_code_name(DEQUANT_OUT_OF_MEMORY), "out_of_memory");
  for (const int n : {-1, 7, 8, 255, INT_MIN, INT_MAX}) {
    EXPECT_STREQ(code_name_of_number(n), "unknown") << n;
  }
}

TEST(CVersion, IsThatOfTheHeader) { EXPECT_STREQ(dequant_version(), DEQUANT_VERSION); }

TEST(CTargets, EndWithTheReference) {
  const size_t count = dequant_target_count();
  ASSERT_GE(count, 1u);
  EXPECT_STREQ(dequant_target_name(count - 1), "reference");
  EXPECT_EQ(dequant_target_name(count), nullptr);
  EXPECT_EQ(dequant_target_name(SIZE_MAX), nullptr);
}

TEST(CTargets, CanBeForced) {
  const std::string before = dequant_active_target();
  for (size_t i = 0; i < dequant_target_count(); ++i) {
    ASSERT_EQ(dequant_force_target(dequant_target_name(i), nullptr), DEQUANT_OK);
    EXPECT_STREQ(dequant_active_target(), dequant_target_name(i));
  }
  ASSERT_EQ(dequant_force_target(before.c_str(), nullptr), DEQUANT_OK);
}

TEST(CTargets, OfOtherNamesAreRefusedAndChangeNothing) {
  const std::string before = dequant_active_target();
  const auto force = [](const char* name) {
    return call([&](auto* error) { return dequant_force_target(name, error); });
  };
  EXPECT_TRUE(is_invalid(force(nullptr), "name: null"));
  EXPECT_TRUE(is_invalid(force(""), "\"\" is not one of"));
  EXPECT_TRUE(is_invalid(force("AVX2"), "\"AVX2\" is not one of"));
  EXPECT_EQ(dequant_active_target(), before);
}

}  // namespace
}  // namespace dequant::testing::c::element_test
