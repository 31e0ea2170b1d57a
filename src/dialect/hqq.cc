// HQQ weights: slabs of rows that share words, and zero points that are floats.
#include "dequant/hqq.h"

#include "checked.h"
#include "dialect/grid.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::hqq {
namespace {

using enum Element;

/// How codes of some bits share a word.
struct Words {
  int64_t bits;
  Element element;
  int64_t codes;
};
constexpr std::array kWords{Words{1, uint8, 8}, Words{2, uint8, 4}, Words{3, int32, 10},
                            Words{4, uint8, 2}, Words{8, uint8, 1}};

Result<Words> words_of(const Dequantize& node) {
  for (const Words& words : kWords) {
    if (words.bits != node.bits) continue;
    if (words.element == node.W_q.element) return words;
    return invalid("W_q: element type ", name(node.W_q.element), " where codes of ", node.bits,
                   " bits need ", name(words.element));
  }
  return invalid("bits: ", node.bits, " is not one of 1, 2, 3, 4, 8");
}

/// The matrix M.
Result<std::array<int64_t, 2>> matrix_of(const Dequantize& node) {
  DEQUANT_CHECK(check_rank("shape", node.shape, kMaxRank));
  const auto count = checked_count(node.shape);
  if (!count || !checked_bytes(32, *count)) {
    return invalid("shape: the elements of ", to_string(node.shape), " do not fit in 64 bits");
  }
  if (node.axis != 0 && node.axis != 1) return invalid("axis: ", node.axis, " is neither 0 nor 1");
  if (node.group_size < 1 || *count % node.group_size != 0) {
    return invalid("group_size: ", *count, " elements have no groups of ", node.group_size);
  }
  const int64_t groups = *count / node.group_size;
  return node.axis == 1 ? std::array{groups, node.group_size} : std::array{node.group_size, groups};
}

constexpr std::array kInputs{
    SchemeInput{"W_q", true, "uint8, or int32 of 3 bits: slabs of rows that share words"},
    SchemeInput{"scale", true, "float16, bfloat16 or float32: one for each group"},
    SchemeInput{"zero", true, "type and shape of scale"},
};
constexpr std::array kSettings{
    SchemeSetting{"shape", "of the dense weight: 4096,4096"},
    SchemeSetting{"bits", "1, 2, 3, 4 (the default) or 8"},
    SchemeSetting{"group_size", "elements that share a scale; 64 is the default"},
    SchemeSetting{"axis", "of the matrix of groups: 0 or 1 (the default)"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  Dequantize node{.W_q = arguments.type("W_q"),
                  .scale = arguments.type("scale"),
                  .zero = arguments.type("zero"),
                  .output = arguments.output()};
  DEQUANT_TRY(auto shape, arguments.integers("shape"));
  node.shape = shape;
  DEQUANT_TRY(node.bits, arguments.integer("bits", 4));
  DEQUANT_TRY(node.group_size, arguments.integer("group_size", 64));
  DEQUANT_TRY(node.axis, arguments.integer("axis", 1));
  DEQUANT_TRY(Plan plan, dequantize(node));
  return SchemePlan{.plan = std::move(plan),
                    .shape = std::move(shape),
                    .x = *arguments.index("W_q"),
                    .scale = *arguments.index("scale"),
                    .zero_point = arguments.index("zero")};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_TRY(const Words words, words_of(node));
  DEQUANT_TRY(const auto matrix, matrix_of(node));
  // Only words of 3 bits may have room for more rows.
  const std::array stored{ceil_div(matrix[0], words.codes), matrix[1]};
  if (matrix[0] % words.codes != 0 && words.element == uint8) {
    return invalid("shape: ", matrix[0], " rows of groups do not fill words of ", words.codes,
                   " codes");
  }
  DEQUANT_CHECK(check_tensor("W_q", node.W_q, words.element, stored));
  DEQUANT_CHECK(check_float_type("scale", node.scale.element));
  const Element type = node.scale.element;
  std::array parameters = matrix;
  parameters[static_cast<size_t>(node.axis)] = 1;
  DEQUANT_CHECK(check_tensor("scale", node.scale, type, parameters));
  DEQUANT_CHECK(check_tensor("zero", node.zero, type, parameters));
  Plan plan{.input = uint8, .scale = type, .output = node.output, .has_zero_point = true};
  plan.parameters.zero_point = type;
  if (type != float32) plan.parameters.result_rounding = type;
  if (words.codes > 1) {
    plan.parameters.x_packing = {CodeOrder::slabs_high_first, static_cast<int32_t>(node.bits), 0,
                                 std::max<int64_t>(stored[0] * stored[1], 1)};
  }
  return grid_plan(std::move(plan), {"W_q", {uint8, matrix}}, {"scale", node.scale}, {});
}

}  // namespace dequant::hqq

namespace dequant {

const SchemeEntry kHqqScheme{{"hqq", "HQQ", hqq::kInputs, hqq::kSettings}, &hqq::plan_of};

}  // namespace dequant
