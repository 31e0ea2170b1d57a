// Integer weights of Quark.
#include "dequant/quark.h"

#include <algorithm>

#include "checked.h"
#include "dialect/grid.h"
#include "dialect/matrix.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::quark {
namespace {

using enum Element;

/// Codes of 4 bits in a word.
constexpr int64_t kCodes = 8;

Result<Dense> dense_of_bytes(const Dequantize& node) {
  const Shape shape = node.weight.shape;
  const Shape scale = node.weight_scale.shape;
  if (node.weight.element != int8 || shape.size() != 2) {
    return invalid("weight: ", name(node.weight.element), to_string(shape),
                   " is not int8 [out, in]");
  }
  if (checked_count(scale) != 1 && !std::ranges::equal(scale, shape.first(1))) {
    return invalid("weight_scale: shape ", to_string(scale), " is neither one scale nor [",
                   shape[0], "]");
  }
  if (node.weight_zero_point) {
    DEQUANT_CHECK(check_tensor("weight_zero_point", *node.weight_zero_point, int8, scale));
  }
  DEQUANT_TRY(Plan plan,
              grid_plan({.input = int8,
                         .scale = node.weight_scale.element,
                         .output = node.output,
                         .has_zero_point = node.weight_zero_point.has_value()},
                        {"weight", node.weight}, {"weight_scale", node.weight_scale}, {}));
  return Dense{std::move(plan), {shape.begin(), shape.end()}};
}

Result<Dense> dense_of_words(const Dequantize& node) {
  const Shape words = node.weight.shape;
  if (node.weight.element != int32 || words.size() != 2 || !checked_count(words)) {
    return invalid("weight: ", name(node.weight.element), to_string(words),
                   " is not int32 [in, out / 8]");
  }
  if (node.group_size < 1) return invalid("group_size: ", node.group_size, " is less than 1");
  const int64_t in = words[0];
  const auto out = checked_mul(words[1], kCodes);
  if (!out) return invalid("weight: shape ", to_string(words), " has too many outputs");
  const int64_t groups = ceil_div(in, node.group_size);
  const std::array scales{groups, *out};
  DEQUANT_CHECK(check_tensor("weight_scale", node.weight_scale, node.weight_scale.element, scales));
  // The bits of a code are those of its element: two's complement, or not.
  const Element element = node.weight_dtype == DType::int4 ? int8 : uint8;
  const Packing packing{CodeOrder::interleaved, 4, *out, 0};
  Plan plan{.input = element,
            .scale = node.weight_scale.element,
            .output = node.output,
            .has_zero_point = node.weight_zero_point.has_value()};
  plan.parameters.x_packing = packing;
  if (node.weight_zero_point) {
    const std::array zeros{groups, words[1]};
    DEQUANT_CHECK(check_tensor("weight_zero_point", *node.weight_zero_point, int32, zeros));
    plan.parameters.zero_point = element;
    plan.parameters.zero_point_packing = packing;
  } else if (node.weight_dtype == DType::uint4) {
    return invalid("weight_zero_point: weights of uint4 need one");
  }
  DEQUANT_TRY(plan, matrix_plan(std::move(plan), {.rows = *out,
                                                  .columns = in,
                                                  .x_row = 1,
                                                  .x_column = *out,
                                                  .scale = {1, *out},
                                                  .zero_point = {1, *out},
                                                  .group = node.group_size}));
  return Dense{std::move(plan), {*out, in}};
}

Result<Dense> dense_of(const Dequantize& node) {
  DEQUANT_CHECK(check_float_type("weight_scale", node.weight_scale.element));
  return node.weight_dtype == DType::int8 ? dense_of_bytes(node) : dense_of_words(node);
}

constexpr std::array kInputs{
    SchemeInput{"weight", true, "int8 [out, in], or int32 [in, out / 8]"},
    SchemeInput{"weight_scale", true, "float32, float16 or bfloat16: one, [out] or [groups, out]"},
    SchemeInput{"weight_zero_point", false,
                "int8 as weight_scale, or int32 [groups, out / 8]; uint4 needs it"},
};
/// In the order of DType.
constexpr std::array<std::string_view, 3> kDTypes{"int8", "int4", "uint4"};
constexpr std::array kSettings{
    SchemeSetting{"weight_dtype", "int8 (the default), int4 or uint4"},
    SchemeSetting{"group_size", "of 4 bits: inputs that share a scale"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  DEQUANT_TRY(const size_t dtype, arguments.one_of("weight_dtype", kDTypes, 0));
  DEQUANT_TRY(const int64_t group_size, arguments.integer("group_size", 0));
  const Dequantize node{static_cast<DType>(dtype),
                        arguments.type("weight"),
                        arguments.type("weight_scale"),
                        arguments.optional_type("weight_zero_point"),
                        group_size,
                        arguments.output()};
  DEQUANT_TRY(auto dense, dense_of(node));
  return SchemePlan{.plan = std::move(dense.plan),
                    .shape = std::move(dense.shape),
                    .x = *arguments.index("weight"),
                    .scale = *arguments.index("weight_scale"),
                    .zero_point = arguments.index("weight_zero_point")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_TRY(auto dense, dense_of(node));
  return std::move(dense.plan);
}

}  // namespace dequant::quark

namespace dequant {

const SchemeEntry kQuarkScheme{{"quark", "AMD Quark", quark::kInputs, quark::kSettings},
                               &quark::plan_of};

}  // namespace dequant
