// Binding buffers to a compiled operator and executing it.
#include <algorithm>

#include "directml_desc.h"
#include "support/packed.h"

namespace dequant::directml_execute_test {
namespace {

using namespace testing;
using Inputs = std::vector<std::span<const std::byte>>;

/// A [1, 1, 2, 3] operator with broadcast scale and zero point, and buffers for it.
struct Bound {
  directml::Operator op;
  Bytes x = pack(Element::uint8, {0, 1, 2, 127, 128, 255, 0, 0});
  Bytes scale = pack(Element::float32, {0x40000000});  // 2
  Bytes zero = pack(Element::uint8, {128, 0, 0, 0});
  Bytes y = Bytes(24, std::byte{0xA5});

  Bound() {
    DmlNode node;
    node.scale.strides = node.zero_point->strides = Uints{0, 0, 0, 0};
    const auto compiled = compile(node);
    EXPECT_TRUE(succeeds(compiled));
    if (compiled) op = *compiled;
  }
  Inputs inputs() const { return {x, scale, zero}; }
};

TEST(DirectMLExecute, ComputesTheFormula) {
  Bound b;
  ASSERT_TRUE(succeeds(directml::execute(b.op, b.inputs(), b.y)));
  // (x - 128) * 2
  EXPECT_EQ(b.y, pack(Element::float32,
                      {0xC3800000, 0xC37E0000, 0xC37C0000, 0xC0000000, 0x00000000, 0x437E0000}));
}

TEST(DirectMLExecute, AsManyBuffersAreBoundAsTheOperatorHasInputs) {
  Bound b;
  const auto refused = [&](const Inputs& inputs, std::string_view word) {
    EXPECT_TRUE(is_invalid(directml::execute(b.op, inputs, b.y), word));
    EXPECT_EQ(b.y, Bytes(24, std::byte{0xA5}));
  };
  refused({}, "inputs: 0 buffers are bound where the operator has 3");
  refused({b.x, b.scale},
          "inputs: 2 buffers are bound where the operator has 3: input, scale, zero");
  refused({b.x, b.scale, b.zero, b.zero}, "inputs: 4 buffers");
}

TEST(DirectMLExecute, BuffersAreAtLeastAsLargeAsTheTensors) {
  Bound b;
  const auto refused = [&](const Inputs& inputs, std::span<std::byte> output,
                           std::string_view word) {
    EXPECT_TRUE(is_invalid(directml::execute(b.op, inputs, output), word));
    EXPECT_EQ(b.y, Bytes(24, std::byte{0xA5}));
  };
  const std::span<const std::byte> x = b.x, scale = b.scale, zero = b.zero;
  refused({x.first(7), scale, zero}, b.y,
          "inputs[0] (input): 7 bytes are bound where TotalTensorSizeInBytes is 8");
  refused({x, scale.first(3), zero}, b.y, "inputs[1] (scale): 3 bytes");
  refused({x, scale, {}}, b.y, "inputs[2] (zero point): 0 bytes");
  refused({x, scale, zero}, std::span(b.y).first(23), "output: 23 bytes");
  b.x.resize(100);
  b.y.resize(30, std::byte{0xA5});
  EXPECT_TRUE(succeeds(directml::execute(b.op, {{b.x, scale, zero}}, b.y))) << "larger is fine";
  EXPECT_EQ(std::count(b.y.begin() + 24, b.y.end(), std::byte{0xA5}), 6);
}

TEST(DirectMLExecute, TheOutputMayNotOverlapAnInput) {
  Bound b;
  Bytes all(64);
  const std::span<std::byte> memory = all;
  EXPECT_TRUE(is_invalid(
      directml::execute(b.op, {{memory.first(8), b.scale, b.zero}}, memory.first(24)), "overlaps"));
  EXPECT_TRUE(
      is_invalid(directml::execute(b.op, {{b.x, memory.subspan(20, 4), b.zero}}, memory.first(24)),
                 "overlaps"));
  EXPECT_TRUE(succeeds(
      directml::execute(b.op, {{memory.first(60), b.scale, b.zero}}, memory.subspan(8, 24))))
      << "only the tensor's bytes of a buffer count";
}

TEST(DirectMLExecute, AnOperatorChangedByHandIsRefused) {
  Bound b;
  b.op.input_count = 7;
  EXPECT_TRUE(is_invalid(directml::execute(b.op, b.inputs(), b.y), "op: 7 inputs"));
  b.op.input_count = 3;
  b.op.input_bytes[0] = 2;
  EXPECT_TRUE(is_invalid(directml::execute(b.op, b.inputs(), b.y), "x"));
}

TEST(DirectMLExecute, TheMidpointIsSubtractedWhereDequantizeHasAScaleAlone) {
  DmlNode node = dequantize({1, 8}, {1, 2}, DML_TENSOR_DATA_TYPE_UINT4);
  node.zero_point.reset();
  const auto op = compile(node);
  ASSERT_TRUE(succeeds(op));
  // The first element is in the low bits of the first byte.
  const Bytes x = pack(Element::uint8, {0x10, 0x87, 0xF9, 0x08});
  const Bytes scale = pack(Element::float32, {0x3F800000, 0x40000000});  // 1, 2
  Bytes y(32);
  ASSERT_TRUE(succeeds(directml::execute(*op, {{x, scale}}, y)));
  // 0 1 7 8 by 1, 9 15 8 0 by 2
  EXPECT_EQ(y, pack(Element::float32, {0xC1000000, 0xC0E00000, 0xBF800000, 0x00000000, 0x40000000,
                                       0x41600000, 0x00000000, 0xC1800000}));
}

TEST(DirectMLExecute, PaddingOfTheOutputStaysAsItIs) {
  DmlNode node = element_wise({2, 2});
  node.zero_point.reset();
  node.output.strides = Uints{4, 2};
  node.output.bytes = 40;
  const auto op = compile(node);
  ASSERT_TRUE(succeeds(op));
  const Bytes x = pack(Element::uint8, {1, 2, 3, 4});
  const Bytes scale = pack(Element::float32, {0x3F800000, 0x3F800000, 0x3F800000, 0x3F800000});
  Bytes y = pack(Element::float32, Uints(10, 0xA5A5A5A5));
  ASSERT_TRUE(succeeds(directml::execute(*op, {{x, scale}}, y)));
  constexpr uint32_t kGap = 0xA5A5A5A5;
  EXPECT_EQ(y, pack(Element::float32, {0x3F800000, kGap, 0x40000000, kGap, 0x40400000, kGap,
                                       0x40800000, kGap, kGap, kGap}));
}

}  // namespace
}  // namespace dequant::directml_execute_test
