// Plans of every dialect: that they are those of C++, what they say of themselves, how they end.
#include <algorithm>

#include "c_api/call.h"
#include "c_api/directml_node.h"
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "dequant/tensorflow.h"
#include "dequant/webnn.h"

namespace dequant::testing::c::plan_test {
namespace {

std::string text_of(const Planned& planned) {
  EXPECT_TRUE(succeeds(planned));
  return dequant_plan_text(planned.plan.get());
}

std::string text_of(const Result<Plan>& plan) {
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? to_string(*plan) : "no plan";
}

TEST(CPlan, OfOnnxHasEveryAttribute) {
  OnnxNode node{.opset = 24,
                .x = DEQUANT_INT4,
                .x_dims = {2, 64, 8},
                .scale = DEQUANT_FLOAT16,
                .scale_dims = {2, 2, 8},
                .has_zero = true,
                .zero_dims = {2, 2, 8},
                .axis = -2,
                .block_size = 32,
                .output_dtype = DEQUANT_BFLOAT16};
  onnx::DequantizeLinear same;
  same.opset = 24;
  same.x = {Element::int4, node.x_dims};
  same.x_scale = {Element::float16, node.scale_dims};
  same.x_zero_point = {Element::int4, node.zero_dims};
  same.axis = -2;
  same.block_size = 32;
  same.output_dtype = 16;
  EXPECT_EQ(text_of(plan(node)), text_of(onnx::dequantize_linear(same)));

  const auto sizes = sizes_of(plan(node));
  EXPECT_EQ(sizes.x, DEQUANT_INT4);
  EXPECT_EQ(sizes.scale, DEQUANT_FLOAT16);
  EXPECT_EQ(sizes.y, DEQUANT_BFLOAT16);
  EXPECT_EQ(sizes.elements, 1024);
  EXPECT_EQ(sizes.x_bytes, 512u);
  EXPECT_EQ(sizes.scale_bytes, 64u);
  EXPECT_EQ(sizes.zero_point_bytes, 16u);
  EXPECT_EQ(sizes.min_range_bytes, 0u);
  EXPECT_EQ(sizes.max_range_bytes, 0u);
  EXPECT_EQ(sizes.y_bytes, 2048u);
}

TEST(CPlan, OfOnnxGoesByItsOpset) {
  EXPECT_TRUE(fails(plan(OnnxNode{.opset = 9}), DEQUANT_UNSUPPORTED, "opset 9"));
  EXPECT_TRUE(is_invalid(plan(OnnxNode{.opset = 10, .axis = 0}), "axis: "));
  EXPECT_TRUE(is_invalid(plan(OnnxNode{.opset = 19, .block_size = 0}), "block_size: "));
  EXPECT_TRUE(is_invalid(plan(OnnxNode{.opset = 21, .output_dtype = 1}), "output_dtype: "));
  EXPECT_TRUE(is_invalid(plan(OnnxNode{.opset = 25, .output_dtype = 2}), "output_dtype: "));
}

TEST(CPlan, OfMicrosoftHasEveryAttribute) {
  const Dims x{5, 3};
  const Dims scale{5};
  const int64_t axis = 0;
  auto node = sized<dequant_microsoft>();
  node.version = 1;
  node.x = tensor(DEQUANT_UINT16, x);
  node.x_scale = tensor(DEQUANT_FLOAT16, scale);
  node.x_zero_point = tensor(DEQUANT_UINT16, scale);
  node.axis = &axis;
  microsoft::DequantizeLinear same;
  same.x = {Element::uint16, x};
  same.x_scale = {Element::float16, scale};
  same.x_zero_point = {Element::uint16, scale};
  same.axis = 0;
  EXPECT_EQ(text_of(plan(node)), text_of(microsoft::dequantize_linear(same)));
  const auto sizes = sizes_of(plan(node));
  EXPECT_EQ(sizes.x_bytes, 30u);
  EXPECT_EQ(sizes.scale_bytes, 10u);
  EXPECT_EQ(sizes.zero_point_bytes, 10u);
  EXPECT_EQ(sizes.y_bytes, 30u);
  node.version = 2;
  EXPECT_TRUE(fails(plan(node), DEQUANT_UNSUPPORTED, "version 2"));
}

TEST(CPlan, OfTensorFlowHasEveryAttribute) {
  const TensorFlowNode owner{.input = DEQUANT_INT8,
                             .input_dims = {4, 7},
                             .min_dims = {7},
                             .max_dims = {7},
                             .mode = DEQUANT_SCALED,
                             .raw_axis = 1};
  auto node = owner.view();
  tensorflow::Dequantize same;
  same.input = {Element::int8, owner.input_dims};
  same.min_range = same.max_range = {Element::float32, owner.min_dims};
  same.mode = tensorflow::Mode::scaled;
  same.axis = tensorflow::RawAxis{1};
  EXPECT_EQ(text_of(plan(node)), text_of(tensorflow::dequantize(same)));
  node.narrow_range = 1;
  same.narrow_range = true;
  EXPECT_EQ(text_of(plan(node)), text_of(tensorflow::dequantize(same)));

  const auto sizes = sizes_of(plan(node));
  EXPECT_EQ(sizes.x, DEQUANT_INT8);
  EXPECT_EQ(sizes.scale, DEQUANT_FLOAT32);
  EXPECT_EQ(sizes.x_bytes, 28u);
  EXPECT_EQ(sizes.scale_bytes, 0u);
  EXPECT_EQ(sizes.zero_point_bytes, 0u);
  EXPECT_EQ(sizes.min_range_bytes, 28u);
  EXPECT_EQ(sizes.max_range_bytes, 28u);
  EXPECT_EQ(sizes.y_bytes, 112u);
}

TEST(CPlan, OfTensorFlowTakesEveryVersionModeTypeAndSemantics) {
  TensorFlowNode owner{.input_dims = {3}};
  tensorflow::Dequantize same;
  same.input = {Element::uint8, owner.input_dims};
  same.min_range = same.max_range = {Element::float32, {}};
  for (const auto mode : {DEQUANT_MIN_COMBINED, DEQUANT_MIN_FIRST, DEQUANT_SCALED}) {
    owner.mode = mode;
    same.mode = static_cast<tensorflow::Mode>(mode);
    for (const bool old : {false, true}) {
      for (const bool documented : {false, old}) {
        auto node = owner.view();
        node.version = old ? DEQUANT_TENSORFLOW_R1_4 : DEQUANT_TENSORFLOW_2;
        node.semantics = documented ? DEQUANT_DOCUMENTED : DEQUANT_KERNEL;
        same.version = old ? tensorflow::Version::r1_4 : tensorflow::Version::r2;
        same.semantics =
            documented ? tensorflow::Semantics::documented : tensorflow::Semantics::kernel;
        EXPECT_EQ(text_of(plan(node)), text_of(tensorflow::dequantize(same)));
      }
    }
  }
  auto node = owner.view();
  node.mode = DEQUANT_MIN_COMBINED;
  node.dtype = DEQUANT_BFLOAT16;
  EXPECT_EQ(sizes_of(plan(node)).y, DEQUANT_BFLOAT16);
}

TEST(CPlan, OfTensorFlowReadsAnAxisInOneOfTwoWays) {
  const auto slices = [](std::optional<int64_t> raw, std::optional<int64_t> python) {
    return TensorFlowNode{.input_dims = {2, 3},
                          .min_dims = {3},
                          .max_dims = {3},
                          .raw_axis = raw,
                          .python_axis = python};
  };
  EXPECT_TRUE(succeeds(plan(slices({}, -1)))) << "the last dimension";
  EXPECT_TRUE(succeeds(plan(slices({}, 1))));
  EXPECT_TRUE(succeeds(plan(slices(1, {}))));
  EXPECT_TRUE(is_invalid(plan(slices(-1, {})), "min_range: 3 elements")) << "per tensor";
  EXPECT_TRUE(is_invalid(plan(slices({}, {})), "min_range: 3 elements")) << "per tensor";
  EXPECT_TRUE(is_invalid(plan(slices(1, 1)), "raw_axis: 1 is given, and python_axis 1 too"));
  EXPECT_TRUE(succeeds(plan(TensorFlowNode{.raw_axis = -1})));
}

TEST(CPlan, OfWebnnHasEveryOperand) {
  const Dims input{4, 6};
  const Dims scale{2, 3};
  auto node = sized<dequant_webnn>();
  node.input = tensor(DEQUANT_UINT4, input);
  node.scale = tensor(DEQUANT_FLOAT16, scale);
  node.zero_point = tensor(DEQUANT_UINT4, scale);
  webnn::DequantizeLinear same;
  same.input = {Element::uint4, input};
  same.scale = {Element::float16, scale};
  same.zero_point = {Element::uint4, scale};
  EXPECT_EQ(text_of(plan(node)), text_of(webnn::dequantize_linear(same)));
  const auto sizes = sizes_of(plan(node));
  EXPECT_EQ(sizes.elements, 24);
  EXPECT_EQ(sizes.x_bytes, 12u);
  EXPECT_EQ(sizes.scale_bytes, 12u);
  EXPECT_EQ(sizes.zero_point_bytes, 3u);
  EXPECT_EQ(sizes.y_bytes, 48u);
}

TEST(CPlan, OfDirectmlSaysTheBytesOfItsBindings) {
  DirectMLNode node;
  node.input = {DML_TENSOR_DATA_TYPE_UINT8, {1, 1, 2, 3}, {16, 16, 8, 1}, 12};
  const auto planned = plan(node);
  ASSERT_TRUE(succeeds(planned));
  const auto sizes = sizes_of(planned);
  EXPECT_EQ(sizes.elements, 6);
  EXPECT_EQ(sizes.x_bytes, 12u) << "8 + 3, rounded up to 4";
  EXPECT_EQ(sizes.scale_bytes, 4u);
  EXPECT_EQ(sizes.zero_point_bytes, 4u);
  EXPECT_EQ(sizes.y_bytes, 24u);
  EXPECT_EQ(sizes.min_range_bytes, 0u);
  node.input.bytes = 64;
  node.scale.bytes = 68;
  node.zero_point.bytes = 72;
  node.output.bytes = 76;
  const auto larger = sizes_of(plan(node));
  EXPECT_EQ(larger.x_bytes, 64u) << "as the description says";
  EXPECT_EQ(larger.scale_bytes, 68u);
  EXPECT_EQ(larger.zero_point_bytes, 72u);
  EXPECT_EQ(larger.y_bytes, 76u);
  node.has_zero_point = false;
  EXPECT_EQ(sizes_of(plan(node)).zero_point_bytes, 0u);
}

TEST(CPlan, TextLivesAsLongAsThePlan) {
  const OnnxNode node;
  const auto a = plan(node);
  const auto b = plan(OnnxNode{.x = DEQUANT_UINT8});
  const char* text = dequant_plan_text(a.plan.get());
  EXPECT_EQ(dequant_plan_text(a.plan.get()), text) << "no copy";
  EXPECT_NE(std::string(text), dequant_plan_text(b.plan.get()));
  EXPECT_STREQ(dequant_plan_text(nullptr), "");
}

TEST(CPlan, KeepsNothingOfTheNode) {
  Planned planned;
  Buffers b{.x = {1, 2}, .scale = bytes_of<float>({2.0F, 3.0F}), .y = Memory(8)};
  {
    OnnxNode node{.x_dims = {2, 1}, .scale_dims = {2}, .axis = 0};
    planned = plan(node);
    std::fill(node.x_dims.begin(), node.x_dims.end(), -1);
    std::fill(node.scale_dims.begin(), node.scale_dims.end(), -1);
    node.axis = 99;
  }
  ASSERT_TRUE(succeeds(run(planned, b.view())));
  EXPECT_EQ(numbers_of<float>(b.y), (std::vector{2.0F, 6.0F}));
}

TEST(CPlan, OutIsNullAfterAFailure) {
  const auto node = sized<dequant_onnx>();
  int something = 0;
  auto* plan = reinterpret_cast<dequant_plan*>(&something);
  EXPECT_NE(dequant_plan_onnx(&node, &plan, nullptr), DEQUANT_OK);
  EXPECT_EQ(plan, nullptr);
}

}  // namespace
}  // namespace dequant::testing::c::plan_test
