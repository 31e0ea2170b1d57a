// FP8 weights of checkpoints: weight * scale, with scales for blocks of any shape.
#include "dequant/fp8.h"

#include "dialect/grid.h"
#include "dialect/linear.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::fp8 {
namespace {

using enum Element;

constexpr ElementSet kWeight{float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};
constexpr ElementSet kScale{float32, float16, bfloat16, float8e8m0, uint8};

constexpr std::array kInputs{
    SchemeInput{"weight", true, "a float8, row-major"},
    SchemeInput{"weight_scale", true,
                "float32, float16, bfloat16, float8e8m0 or uint8: one, one a row, or one a block"},
};
constexpr std::array kSettings{
    SchemeSetting{"block", "block lengths, one for each dimension of weight: 128,128"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  const TensorType weight = arguments.type("weight");
  DEQUANT_TRY(const auto block, arguments.integers("block"));
  DEQUANT_TRY(Plan plan,
              dequantize({weight, arguments.type("weight_scale"), block, arguments.output()}));
  return SchemePlan{.plan = std::move(plan),
                    .shape = {weight.shape.begin(), weight.shape.end()},
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("weight_scale")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  if (!kWeight.contains(node.weight.element)) {
    return invalid("weight: element type ", name(node.weight.element), " is not a float8");
  }
  if (!kScale.contains(node.weight_scale.element)) {
    return invalid("weight_scale: element type ", name(node.weight_scale.element),
                   " is not one of float32, float16, bfloat16, float8e8m0, uint8");
  }
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_CHECK(check_rank("weight", node.weight.shape, kMaxRank));
  const Element stored = node.weight_scale.element;
  const Plan plan{.input = node.weight.element,
                  .scale = stored == uint8 ? float8e8m0 : stored,
                  .output = node.output};
  return grid_plan(plan, {"weight", node.weight}, {"weight_scale", node.weight_scale}, node.block);
}

}  // namespace dequant::fp8

namespace dequant {

const SchemeEntry kFp8Scheme{
    {"fp8", "DeepSeek, Qwen, Kimi, Mistral, vLLM, ComfyUI", fp8::kInputs, fp8::kSettings},
    &fp8::plan_of};

}  // namespace dequant
