// The rules of one buffer tensor, and the size helper.
#include <cstring>

#include "directml_desc.h"

namespace dequant::directml_tensor_test {
namespace {

using namespace testing;
using directml::buffer_tensor_size;

TEST(BufferTensorSize, CountsBitsAndRoundsUpToFourBytes) {
  const auto size = [](DML_TENSOR_DATA_TYPE type, const Uints& sizes, const Uints& strides = {}) {
    const auto bytes = buffer_tensor_size(type, sizes, strides);
    EXPECT_TRUE(succeeds(bytes));
    return bytes ? *bytes : 0;
  };
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_INT4, {3}), 4U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_INT4, {8}), 4U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_UINT4, {3, 3}), 8U) << "36 bits: rows are not padded";
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 2, 3}), 8U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_UINT16, {3}), 8U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_FLOAT16, {7, 9}, {0, 0}), 4U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 3}, {5, 1}), 32U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 3, 4}, {0, 1, 0}), 12U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_FLOAT64, {2, 3}), 48U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_INT64, {1}), 8U);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_UINT8, {UINT32_MAX, 2}), 2 * UINT64{UINT32_MAX} + 2);
  EXPECT_EQ(size(DML_TENSOR_DATA_TYPE_UINT8, {2}, {UINT32_MAX}), UINT64{1} << 32);
}

TEST(BufferTensorSize, RefusesWhereTheIndexOfTheOriginalWouldWrap) {
  const Uints three{3}, two{2, 2};
  EXPECT_TRUE(is_invalid(buffer_tensor_size(DML_TENSOR_DATA_TYPE_UINT8, three, Uints{0x80000000}),
                         "beyond element 2^32 - 1"));
  EXPECT_TRUE(is_invalid(buffer_tensor_size(DML_TENSOR_DATA_TYPE_UINT8, two, Uints{UINT32_MAX, 1}),
                         "[4294967295, 1]"));
  const Uints all{UINT32_MAX, UINT32_MAX};
  EXPECT_TRUE(is_invalid(buffer_tensor_size(DML_TENSOR_DATA_TYPE_UINT8, all, all), "Strides"));
}

TEST(BufferTensorSize, RefusesWhatIsNoTensor) {
  const Uints two{2, 3};
  const auto unknown = DML_TENSOR_DATA_TYPE_UNKNOWN;
  EXPECT_TRUE(is_invalid(buffer_tensor_size(unknown, two, {}), "DataType: 0"));
  EXPECT_TRUE(is_invalid(buffer_tensor_size(static_cast<DML_TENSOR_DATA_TYPE>(14), two, {}),
                         "DataType: 14"));
  const auto type = DML_TENSOR_DATA_TYPE_FLOAT64;
  EXPECT_TRUE(is_invalid(buffer_tensor_size(type, {}, {}), "DimensionCount: 0"));
  EXPECT_TRUE(is_invalid(buffer_tensor_size(type, Uints(9, 1), {}), "DimensionCount: 9"));
  EXPECT_TRUE(is_invalid(buffer_tensor_size(type, Uints{2, 0, 3}, {}), "dimension 1 of [2, 0, 3]"));
  EXPECT_TRUE(is_invalid(buffer_tensor_size(type, two, Uints{1}), "1 of them for 2 Sizes"));
  EXPECT_TRUE(is_invalid(buffer_tensor_size(type, Uints(8, 256), {}), "Sizes"));
  EXPECT_TRUE(is_invalid(buffer_tensor_size(type, Uints(5, UINT32_MAX), {}), "2^64 - 1 elements"));
}

TEST(DirectMLTensor, TotalSizeMayBeLargerThanNeededButNotSmaller) {
  DmlNode node;  // [1, 1, 2, 3] of UINT8: 6 bytes, so 8
  for (const UINT64 bytes : {UINT64{8}, UINT64{9}, UINT64{1000}, UINT64_MAX}) {
    node.input.bytes = bytes;
    const auto op = compile(node);
    ASSERT_TRUE(succeeds(op));
    EXPECT_EQ(op->input_bytes[0], bytes);
  }
  for (const UINT64 bytes : {0U, 1U, 6U, 7U}) {
    node.input.bytes = bytes;
    rejects_dml(
        "too small", node,
        {"InputTensor: TotalTensorSizeInBytes: " + std::to_string(bytes) + " is less than 8",
         "[1, 1, 2, 3]"});
  }
  node.input = {.strides = Uints{0, 0, 100, 1}, .bytes = 100};
  rejects_dml("strides count", node, {"less than 104", "Strides [0, 0, 100, 1]"});
}

TEST(DirectMLTensor, AlignmentIsZeroOrAPowerOfTwoOfAtLeastTheElement) {
  DmlNode node;
  for (const UINT alignment : {0U, 4U, 16U, 256U, 0x80000000U}) {
    node.scale.alignment = alignment;
    accepts_dml("a power of two", node);
  }
  for (const UINT alignment : {1U, 2U, 3U, 6U, 24U, UINT32_MAX}) {
    node.scale.alignment = alignment;
    rejects_dml("not one", node,
                {"ScaleTensor: GuaranteedBaseOffsetAlignment: " + std::to_string(alignment),
                 "at least 4, the bytes of FLOAT32"});
  }
  node = dequantize({2, 4}, {2, 2}, DML_TENSOR_DATA_TYPE_INT4);
  node.input.alignment = 1;
  accepts_dml("4 bits", node);
}

TEST(DirectMLTensor, OnlyInputsMayBeOwnedByDirectML) {
  DmlNode node;
  node.input.flags = node.scale.flags = node.zero_point->flags = DML_TENSOR_FLAG_OWNED_BY_DML;
  accepts_dml("inputs", node);
  node.output.flags = DML_TENSOR_FLAG_OWNED_BY_DML;
  rejects_dml("the output", node, {"OutputTensor: Flags: OWNED_BY_DML is for inputs only"});
  DmlNode other;
  DmlView view(other.input);
  const UINT flags = 6;
  std::memcpy(&view.buffer.Flags, &flags, sizeof flags);
  const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc{&view.desc, &view.desc, &view.desc,
                                                              &view.desc};
  EXPECT_TRUE(is_invalid(directml::compile({other.type, &desc}, DML_FEATURE_LEVEL_6_4),
                         "InputTensor: Flags: 6"));
}

TEST(DirectMLTensor, SizesAndStridesAreChecked) {
  DmlNode node;
  node.input.sizes = {1, 0, 2, 3};
  node.input.bytes = 8;
  rejects_dml("a size of 0", node, {"InputTensor: Sizes: dimension 1 of [1, 0, 2, 3] is 0"});
  node.input = {.sizes = {1, 1, 65536, 65536}, .strides = Uints{0, 0, 0, 0}};
  rejects_dml("2^32 elements", node, {"4294967296 elements", "no more than 4294967295"});
  node.input = {.sizes = {1, 1, 2, 3}, .strides = Uints{0, 0, UINT32_MAX, 1}, .bytes = UINT64_MAX};
  rejects_dml("an index that wraps", node, {"InputTensor: Strides: ", "2^32 - 1"});
  node.input.strides = Uints{UINT32_MAX, UINT32_MAX, UINT32_MAX - 2, 1};
  accepts_dml("the last index that does not; strides of dimensions of 1 count nothing", node);
}

/// The description with one pointer changed.
template <class Change>
Result<directml::Operator> with_change(const Change& change) {
  const DmlNode node;
  DmlView input(node.input), scale(node.scale), zero(*node.zero_point), output(node.output);
  DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc{&input.desc, &scale.desc, &zero.desc,
                                                        &output.desc};
  change(desc, zero);
  return directml::compile({node.type, &desc}, DML_FEATURE_LEVEL_6_4);
}

TEST(DirectMLTensor, NullPointersAreRefusedByName) {
  const auto refused = [](std::string_view word, auto change) {
    EXPECT_TRUE(is_invalid(with_change(change), word));
  };
  refused("InputTensor: is null", [](auto& d, auto&) { d.InputTensor = nullptr; });
  refused("ScaleTensor: is null", [](auto& d, auto&) { d.ScaleTensor = nullptr; });
  refused("OutputTensor: is null", [](auto& d, auto&) { d.OutputTensor = nullptr; });
  refused("ZeroPointTensor: Desc: is null", [](auto&, auto& z) { z.desc.Desc = nullptr; });
  refused("ZeroPointTensor: Sizes: is null", [](auto&, auto& z) { z.buffer.Sizes = nullptr; });
  for (const DML_OPERATOR_TYPE type :
       {DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, DML_OPERATOR_DEQUANTIZE}) {
    EXPECT_TRUE(
        is_invalid(directml::compile({type, nullptr}, DML_FEATURE_LEVEL_6_4), "Desc: is null"));
  }
}

TEST(DirectMLTensor, EnumerationsMayHoldAnyNumber) {
  const auto refused = [](std::string_view word, auto change) {
    EXPECT_TRUE(is_invalid(with_change(change), word));
  };
  const auto put = [](auto& member, UINT number) { std::memcpy(&member, &number, sizeof number); };
  refused("ZeroPointTensor: Type: 0 is not",
          [&](auto&, auto& z) { z.desc.Type = DML_TENSOR_TYPE_INVALID; });
  refused("Type: 4294967295", [&](auto&, auto& z) { put(z.desc.Type, UINT32_MAX); });
  refused("DataType: 14", [&](auto&, auto& z) { put(z.buffer.DataType, 14); });
  refused("DataType: 4294967295", [&](auto&, auto& z) { put(z.buffer.DataType, UINT32_MAX); });
  refused("Flags: 2147483648", [&](auto&, auto& z) { put(z.buffer.Flags, 0x80000000); });
  refused("DimensionCount: 4294967295",
          [&](auto&, auto& z) { z.buffer.DimensionCount = UINT32_MAX; });
}

}  // namespace
}  // namespace dequant::directml_tensor_test
