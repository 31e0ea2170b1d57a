// Ternary weights of transformers' BitNet.
#include "dequant/bitnet.h"

#include <algorithm>

#include "checked.h"
#include "dialect/grid.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::bitnet {
namespace {

using enum Element;

constexpr int64_t kSlabs = 4;

Status check_types(const Dequantize& node) {
  if (node.weight.element != uint8)
    return invalid("weight: element type ", name(node.weight.element), " is not uint8");
  DEQUANT_CHECK(check_float_type("weight_scale", node.weight_scale.element));
  const Shape scale = node.weight_scale.shape;
  if (scale.size() > 1 || checked_count(scale) != 1) {
    return invalid("weight_scale: shape ", to_string(scale), " where a weight has one scale, [1]");
  }
  if (node.linear_class > LinearClass::autobitlinear) {
    return invalid("linear_class: ", static_cast<int>(node.linear_class), " is none");
  }
  return check_output(node.output);
}

constexpr std::array kInputs{
    SchemeInput{"weight", true, "uint8 [rows / 4, ...]: four slabs of rows"},
    SchemeInput{"weight_scale", true, "float32, float16 or bfloat16: one number"},
};
/// In the order of LinearClass.
constexpr std::array<std::string_view, 2> kClasses{"bitlinear", "autobitlinear"};
constexpr std::array kSettings{
    SchemeSetting{"linear_class",
                  "bitlinear (the default): codes are divided by weight_scale; or "
                  "autobitlinear: multiplied"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  Dequantize node{.weight = arguments.type("weight"),
                  .weight_scale = arguments.type("weight_scale"),
                  .output = arguments.output()};
  DEQUANT_TRY(const size_t linear_class, arguments.one_of("linear_class", kClasses, 0));
  node.linear_class = static_cast<LinearClass>(linear_class);
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_TRY(auto shape, dense_shape(node));
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(shape),
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("weight_scale")};
}

}  // namespace

Result<std::vector<int64_t>> dense_shape(const Dequantize& node) {
  DEQUANT_CHECK(check_types(node));
  const Shape stored = node.weight.shape;
  std::vector<int64_t> dense(stored.begin(), stored.end());
  const bool has_rows = !dense.empty() && dense.size() <= size_t{kMaxRank};
  const auto rows = has_rows ? checked_mul(dense[0], kSlabs) : std::nullopt;
  if (rows) dense[0] = *rows;
  if (!rows || !checked_count(dense)) {
    return invalid("weight: shape ", to_string(stored), " where [rows / 4, ...] of up to ",
                   kMaxRank, " dimensions is needed");
  }
  return dense;
}

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_TRY(const auto dense, dense_shape(node));
  Plan plan{.input = uint8,
            .scale = node.weight_scale.element,
            .output = node.output,
            .implicit_zero_point = 1};
  plan.parameters.reciprocal_scale = node.linear_class == LinearClass::bitlinear;
  const int64_t bytes = checked_count(node.weight.shape).value_or(0);
  plan.parameters.x_packing = {CodeOrder::slabs, 2, 0, std::max<int64_t>(bytes, 1)};
  return grid_plan(std::move(plan), {"weight", {uint8, dense}}, {"weight_scale", node.weight_scale},
                   {});
}

}  // namespace dequant::bitnet

namespace dequant {

const SchemeEntry kBitnetScheme{
    {"bitnet", "transformers (BitNet)", bitnet::kInputs, bitnet::kSettings}, &bitnet::plan_of};

}  // namespace dequant
