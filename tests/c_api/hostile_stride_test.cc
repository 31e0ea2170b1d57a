// Hostile strides as DirectML says strides: 32 bits, none negative.
#include "c_api/hostile.h"

namespace dequant::testing::c::hostile_stride_test {
namespace {

/// uint8[2, 3] of those strides, one scale and one zero point.
DirectMLNode node_of(std::vector<UINT> input, std::vector<UINT> output) {
  DirectMLNode node;
  const auto bytes = [](const std::vector<UINT>& strides, UINT64 element) {
    const UINT64 last = UINT64{strides[2]} + UINT64{2} * strides[3];
    return (last * element + element + 3) / 4 * 4;
  };
  node.input = {DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 2, 3}, input, bytes(input, 1)};
  node.output = {DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 2, 3}, output, bytes(output, 4)};
  return node;
}

const std::vector<UINT> kPacked{6, 6, 3, 1};

TEST(Hostile, InputsOfAnyStrideAreRead) {
  struct Strided {
    std::vector<UINT> strides;
    std::vector<float> y;
  };
  const Strided list[] = {
      {{6, 6, 3, 1}, {0, 1, 2, 3, 4, 5}},  // packed
      {{0, 0, 4, 1}, {0, 1, 2, 4, 5, 6}},  // padded rows
      {{0, 0, 1, 2}, {0, 2, 4, 1, 3, 5}},  // columns first
      {{0, 0, 0, 1}, {0, 1, 2, 0, 1, 2}},  // one row for all
      {{0, 0, 1, 0}, {0, 0, 0, 1, 1, 1}},  // one column for all
      {{0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}},  // one element for all
      {{9, 9, 1, 1}, {0, 1, 2, 1, 2, 3}},  // overlapping rows
  };
  for (const Strided& s : list) {
    DirectMLNode node = node_of(s.strides, kPacked);
    const auto planned = plan(node);
    ASSERT_TRUE(succeeds(planned)) << ::testing::PrintToString(s.strides);
    Buffers b{
        .x = {0, 1, 2, 3, 4, 5, 6, 7}, .scale = bytes_of<float>({1.0F}), .zero_point = Memory(4)};
    b.x.resize(sizes_of(planned).x_bytes);
    EXPECT_EQ(numbers_of<float>(output_of(planned, b)), s.y) << ::testing::PrintToString(s.strides);
  }
}

TEST(Hostile, GapsOfTheOutputStayAsTheyAre) {
  DirectMLNode node = node_of(kPacked, {0, 0, 4, 1});
  Buffers b{
      .x = {0, 1, 2, 3, 4, 5, 0, 0}, .scale = bytes_of<float>({1.0F}), .zero_point = Memory(4)};
  const Memory y = output_of(plan(node), b);
  ASSERT_EQ(y.size(), 28u);
  EXPECT_EQ(Memory(y.begin() + 12, y.begin() + 16), Memory(4, kUntouched));
  EXPECT_EQ(numbers_of<float>(y)[4], 3.0F);
}

TEST(Hostile, OutputsWhoseElementsOverlapAreRefused) {
  for (const auto& strides :
       {std::vector<UINT>{0, 0, 0, 1}, {0, 0, 3, 0}, {0, 0, 0, 0}, {0, 0, 2, 1}, {0, 0, 1, 1}}) {
    DirectMLNode node = node_of(kPacked, strides);
    EXPECT_TRUE(is_invalid(plan(node), "OutputTensor: ")) << ::testing::PrintToString(strides);
  }
}

TEST(Hostile, StridesWhoseReachOverflowsAreRefused) {
  for (const auto& strides :
       {std::vector<UINT>{0, 0, UINT32_MAX, 1}, {0, 0, 1, UINT32_MAX}, {0, 0, 1, 0x80000000}}) {
    DirectMLNode input = node_of(kPacked, kPacked);
    input.input.strides = strides;
    input.input.bytes = UINT64_MAX;
    EXPECT_TRUE(is_invalid(plan(input), "InputTensor: Strides"))
        << ::testing::PrintToString(strides);
    DirectMLNode output = node_of(kPacked, kPacked);
    output.output.strides = strides;
    output.output.bytes = UINT64_MAX;
    EXPECT_TRUE(is_invalid(plan(output), "OutputTensor: Strides"))
        << ::testing::PrintToString(strides);
  }
}

TEST(Hostile, SizesWhoseProductOverflowsAreRefused) {
  DirectMLNode node;
  const std::vector<UINT> huge{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  node.input.sizes = node.scale.sizes = node.zero_point.sizes = node.output.sizes = huge;
  node.input.bytes = node.output.bytes = UINT64_MAX;
  EXPECT_TRUE(is_invalid(plan(node), "InputTensor: Sizes"));
  node.input.strides = node.output.strides = {0, 0, 0, 0};
  EXPECT_TRUE(is_invalid(plan(node), "Tensor: Sizes"));
}

TEST(Hostile, TensorsSmallerThanTheirStridesReachAreRefused) {
  DirectMLNode node = node_of({0, 0, 100, 1}, kPacked);
  ASSERT_EQ(node.input.bytes, 104u);
  ASSERT_TRUE(succeeds(plan(node)));
  for (const UINT64 bytes : {UINT64{0}, UINT64{4}, UINT64{100}, UINT64{103}}) {
    node.input.bytes = bytes;
    EXPECT_TRUE(is_invalid(plan(node), "InputTensor: TotalTensorSizeInBytes")) << bytes;
  }
  node = node_of(kPacked, {0, 0, 100, 1});
  node.output.bytes -= 1;
  EXPECT_TRUE(is_invalid(plan(node), "OutputTensor: TotalTensorSizeInBytes"));
}

}  // namespace
}  // namespace dequant::testing::c::hostile_stride_test
