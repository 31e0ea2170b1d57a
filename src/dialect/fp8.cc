// FP8 weights of checkpoints: weight * scale, with scales for blocks of any shape.
#include "dequant/fp8.h"

#include "dialect/grid.h"
#include "dialect/linear.h"
#include "text.h"

namespace dequant::fp8 {
namespace {

using enum Element;

constexpr ElementSet kWeight{float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};
constexpr ElementSet kScale{float32, float16, bfloat16, float8e8m0};

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  if (!kWeight.contains(node.weight.element)) {
    return invalid("weight: element type ", name(node.weight.element), " is not a float8");
  }
  if (!kScale.contains(node.weight_scale.element)) {
    return invalid("weight_scale: element type ", name(node.weight_scale.element),
                   " is not one of float32, float16, bfloat16, float8e8m0");
  }
  if (!is_output(node.output)) {
    return invalid("output: element type ", name(node.output),
                   " is not one of float32, float16, bfloat16");
  }
  if (node.weight.shape.size() > size_t{kMaxRank}) {
    return invalid("weight: rank ", node.weight.shape.size(), " is greater than ", kMaxRank);
  }
  const Plan plan{
      .input = node.weight.element, .scale = node.weight_scale.element, .output = node.output};
  return grid_plan(plan, {"weight", node.weight}, {"weight_scale", node.weight_scale}, node.block);
}

}  // namespace dequant::fp8
