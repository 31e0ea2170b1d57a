// MX weights: codes of 4, 6 or 8 bits, and E8M0 scales of 32 elements along the last dimension.
#include "dequant/mx.h"

#include "dialect/float_codes.h"
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
  return shape_in_elements({"weight", node.weight}, node.element, kMaxRank);
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
  const Plan plan{.input = node.element, .scale = float8e8m0, .output = node.output};
  return float_blocks_plan(plan, "weight", shape, {"scale", node.scale}, kBlock);
}

}  // namespace dequant::mx

namespace dequant {

const SchemeEntry kMxScheme{
    {"mx", "OCP MXFP4, MXFP6, MXFP8: compressed-tensors, ModelOpt, Quark, DeepSeek-V4", mx::kInputs,
     mx::kSettings},
    &mx::plan_of};

}  // namespace dequant
