// MX weights: codes of 4, 6 or 8 bits, and E8M0 scales of 32 elements along the last dimension.
#include "dequant/mx.h"

#include <vector>

#include "checked.h"
#include "dialect/grid.h"
#include "dialect/linear.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::mx {
namespace {

using enum Element;

constexpr ElementSet kElement{float4e2m1,     float6e2m3, float6e3m2,    float8e4m3fn,
                              float8e4m3fnuz, float8e5m2, float8e5m2fnuz};

/// The shape of the weight in elements.
Result<std::vector<int64_t>> dense_shape(const Dequantize& node) {
  const Shape stored = node.weight.shape;
  if (stored.empty() || stored.size() > size_t{kMaxRank}) {
    return invalid("weight: rank ", stored.size(), " is not 1 to ", kMaxRank);
  }
  std::vector<int64_t> shape(stored.begin(), stored.end());
  if (node.weight.element == node.element) return shape;
  if (node.weight.element != uint8 && node.weight.element != int8) {
    return invalid("weight: element type ", name(node.weight.element), " is neither ",
                   name(node.element), " nor uint8 or int8 with its bytes");
  }
  const auto bits_of_row = checked_mul(stored.back(), 8);
  if (!bits_of_row || *bits_of_row % bits(node.element) != 0) {
    return invalid("weight: rows of ", stored.back(), " bytes hold no whole number of ",
                   name(node.element));
  }
  shape.back() = *bits_of_row / bits(node.element);
  return shape;
}

constexpr std::array kInputs{
    SchemeInput{"weight", true, "codes of the element, or uint8 or int8 with their bytes"},
    SchemeInput{"scale", true, "float8e8m0, or uint8 with its bytes: one for each 32 elements"},
};
constexpr std::array kSettings{
    SchemeSetting{"element", "float4e2m1 (the default), float6e2m3, float6e3m2 or a float8"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  const std::string_view element = arguments.text("element").value_or("float4e2m1");
  const auto known = element_from_name(element);
  if (!known) return invalid("element: \"", element, "\" is no element");
  const Dequantize node{arguments.type("weight"), arguments.type("scale"), *known,
                        arguments.output()};
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_TRY(auto shape, dense_shape(node));
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(shape),
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("scale")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  if (!kElement.contains(node.element)) {
    return invalid("element: ", name(node.element), " is not a float of 4, 6 or 8 bits");
  }
  if (node.scale.element != float8e8m0 && node.scale.element != uint8) {
    return invalid("scale: element type ", name(node.scale.element),
                   " is neither float8e8m0 nor uint8");
  }
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_TRY(const auto shape, dense_shape(node));
  std::vector<int64_t> block(shape.size(), 1);
  block.back() = kBlock;
  const Plan plan{.input = node.element, .scale = float8e8m0, .output = node.output};
  if (node.scale.shape.size() != shape.size()) {
    return invalid("scale: shape ", to_string(node.scale.shape), " where the weight is ",
                   to_string(shape));
  }
  return grid_plan(plan, {"weight", {node.element, shape}}, {"scale", node.scale}, block);
}

}  // namespace dequant::mx

namespace dequant {

const SchemeEntry kMxScheme{
    {"mx", "OCP MXFP4, MXFP6, MXFP8: compressed-tensors, ModelOpt, Quark, DeepSeek-V4", mx::kInputs,
     mx::kSettings},
    &mx::plan_of};

}  // namespace dequant
