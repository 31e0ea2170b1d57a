// Weights of optimum-quanto.
#include "dequant/quanto.h"

#include <algorithm>

#include "checked.h"
#include "dialect/grid.h"
#include "dialect/linear.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::quanto {
namespace {

using enum Element;

constexpr ElementSet kBytes{int8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz};

Status check_types(const Dequantize& node) {
  if (node.bits != 2 && node.bits != 4 && node.bits != 8)
    return invalid("bits: ", node.bits, " is not one of 2, 4, 8");
  const bool bytes = node.bits == 8;
  if (bytes ? !kBytes.contains(node.data.element) : node.data.element != uint8) {
    return invalid("data: element type ", name(node.data.element), " is not ",
                   bytes ? "int8 or a float8" : "uint8");
  }
  DEQUANT_CHECK(check_float_type("scale", node.scale.element));
  if (bytes == node.shift.has_value()) {
    return invalid("shift: weights of ", node.bits, " bits ", bytes ? "have none" : "need one");
  }
  const Shape scale = node.scale.shape;
  if (node.shift &&
      (node.shift->element != node.scale.element ||
       !std::equal(scale.begin(), scale.end(), node.shift->shape.begin(), node.shift->shape.end())))
    return invalid("shift: ", name(node.shift->element), to_string(node.shift->shape), " where ",
                   name(node.scale.element), to_string(scale), " is needed");
  return check_output(node.output);
}

/// The codes as rows that have a scale each.
Result<std::vector<int64_t>> rows_of(const Dequantize& node) {
  const Shape stored = node.data.shape;
  if (stored.size() > size_t{kMaxRank} || !checked_count(stored)) {
    return invalid("data: shape ", to_string(stored), " has too many dimensions or elements");
  }
  std::vector<int64_t> rows(stored.begin(), stored.end());
  if (node.bits == 8) return rows;
  const int64_t slabs = 8 / node.bits;
  const Shape scale = node.scale.shape;
  if (stored.empty() || scale.empty() ||
      ceil_div(std::max<int64_t>(scale[0], 0), slabs) != stored[0]) {
    return invalid("data: shape ", to_string(stored), " where the rows of scale, ",
                   to_string(scale), ", fill ceil(rows / ", slabs, ")");
  }
  rows[0] = scale[0];
  return rows;
}

constexpr std::array kInputs{
    SchemeInput{"data", true, "int8 or a float8; of 2 and 4 bits uint8: slabs of rows"},
    SchemeInput{"scale", true, "float32, float16 or bfloat16: one for each row, or one"},
    SchemeInput{"shift", false, "of 2 and 4 bits: type and shape of scale"},
};
constexpr std::array kSettings{
    SchemeSetting{"bits", "2, 4 or 8 (the default)"},
    SchemeSetting{"shape", "of the dense weight, where rows are groups: 4096,4096"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  Dequantize node{.data = arguments.type("data"),
                  .scale = arguments.type("scale"),
                  .shift = arguments.optional_type("shift"),
                  .output = arguments.output()};
  DEQUANT_TRY(node.bits, arguments.integer("bits", 8));
  DEQUANT_TRY(const auto shape, arguments.integers("shape"));
  node.shape = shape;
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_TRY(auto dense, dense_shape(node));
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(dense),
                    .x = *arguments.index("data"),
                    .scale = *arguments.index("scale"),
                    .zero_point = arguments.index("shift")};
}

}  // namespace

Result<std::vector<int64_t>> dense_shape(const Dequantize& node) {
  DEQUANT_CHECK(check_types(node));
  DEQUANT_TRY(auto rows, rows_of(node));
  if (node.shape.empty()) return rows;
  if (checked_count(node.shape) == checked_count(rows) && node.shape.size() <= size_t{kMaxRank})
    return std::vector(node.shape.begin(), node.shape.end());
  return invalid("shape: ", to_string(node.shape), " has not the elements of ", to_string(rows));
}

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_CHECK(dense_shape(node));
  DEQUANT_TRY(const auto rows, rows_of(node));
  const Element type = node.scale.element;
  Plan plan{.input = node.data.element, .scale = type, .output = node.output};
  if (type != float32) plan.parameters.result_rounding = type;
  if (node.bits != 8) {
    plan.has_zero_point = true;
    plan.parameters.zero_point = type;
    plan.parameters.zero_point_role = ZeroPointRole::subtract_after;
    const int64_t words = checked_count(node.data.shape).value_or(0);
    plan.parameters.x_packing = {CodeOrder::slabs, static_cast<int32_t>(node.bits), 0,
                                 std::max<int64_t>(words, 1)};
  }
  return grid_plan(std::move(plan), {"data", {plan.input, rows}}, {"scale", node.scale}, {});
}

}  // namespace dequant::quanto

namespace dequant {

const SchemeEntry kQuantoScheme{{"quanto", "optimum-quanto", quanto::kInputs, quanto::kSettings},
                                &quanto::plan_of};

}  // namespace dequant
