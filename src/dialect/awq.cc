// AWQ weights in the GEMM layout.
#include "dequant/awq.h"

#include "checked.h"
#include "dialect/linear.h"
#include "dialect/matrix.h"
#include "dialect/scheme.h"
#include "text.h"

namespace dequant::awq {
namespace {

using enum Element;

constexpr ElementSet kWords{int32, uint32};
constexpr ElementSet kScales{float16, bfloat16, float32};
/// Codes in a word.
constexpr int64_t kLanes = 8;

Status check_matrix(const TensorType& type, const char* what, ElementSet allowed,
                    std::string_view types) {
  if (!allowed.contains(type.element)) {
    return invalid(what, ": element type ", name(type.element), " is not one of ", types);
  }
  if (type.shape.size() == 2 && checked_count(type.shape)) return {};
  return invalid(what, ": shape ", to_string(type.shape), " is not that of a matrix");
}

Status check(const Dequantize& node) {
  DEQUANT_CHECK(check_matrix(node.qweight, "qweight", kWords, "int32, uint32"));
  DEQUANT_CHECK(check_matrix(node.qzeros, "qzeros", kWords, "int32, uint32"));
  DEQUANT_CHECK(check_matrix(node.scales, "scales", kScales, "float16, bfloat16, float32"));
  const int64_t in = node.qweight.shape[0];
  const auto out = checked_mul(node.qweight.shape[1], kLanes);
  const Shape scales = node.scales.shape;
  if (!out || scales[1] != *out) {
    return invalid("scales: shape ", to_string(scales), " where qweight, ",
                   to_string(node.qweight.shape), ", has ", out.value_or(INT64_MAX), " outputs");
  }
  if (node.group_size < 1 && node.group_size != -1) {
    return invalid("group_size: ", node.group_size, " is neither -1 nor a number of inputs");
  }
  const int64_t groups = node.group_size == -1 ? 1 : ceil_div(in, node.group_size);
  if (scales[0] != groups && in != 0) {
    return invalid("scales: ", scales[0], " groups where ", in, " inputs in groups of ",
                   node.group_size, " need ", groups);
  }
  const std::array zeros{scales[0], node.qweight.shape[1]};
  if (std::equal(zeros.begin(), zeros.end(), node.qzeros.shape.begin()))
    return check_output(node.output);
  return invalid("qzeros: shape ", to_string(node.qzeros.shape), " where ", to_string(zeros),
                 " are needed");
}

constexpr std::array kInputs{
    SchemeInput{"qweight", true, "int32 or uint32 [in, out / 8]"},
    SchemeInput{"qzeros", true, "int32 or uint32 [groups, out / 8]"},
    SchemeInput{"scales", true, "float16, bfloat16 or float32 [groups, out]"},
};
constexpr std::array kSettings{
    SchemeSetting{"group_size", "inputs that share a scale; -1, the default: all"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  Dequantize node{.qweight = arguments.type("qweight"),
                  .qzeros = arguments.type("qzeros"),
                  .scales = arguments.type("scales"),
                  .output = arguments.output()};
  DEQUANT_TRY(node.group_size, arguments.integer("group_size", -1));
  DEQUANT_TRY(Plan plan, dequantize(node));
  DEQUANT_TRY(const auto shape, dense_shape(node));
  return SchemePlan{.plan = std::move(plan),
                    .shape = {shape.begin(), shape.end()},
                    .x = *arguments.index("qweight"),
                    .scale = *arguments.index("scales"),
                    .zero_point = arguments.index("qzeros")};
}

}  // namespace

Result<std::array<int64_t, 2>> dense_shape(const Dequantize& node) {
  DEQUANT_CHECK(check(node));
  return std::array{node.scales.shape[1], node.qweight.shape[0]};
}

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_TRY(const auto shape, dense_shape(node));
  const auto [out, in] = shape;
  Plan plan{
      .input = uint8, .scale = node.scales.element, .output = node.output, .has_zero_point = true};
  const Packing words{CodeOrder::interleaved, 4, out, 0};
  plan.parameters.x_packing = words;
  plan.parameters.zero_point = uint8;
  plan.parameters.zero_point_packing = words;
  const int64_t size = node.group_size == -1 ? in : node.group_size;
  return matrix_plan(std::move(plan), {.rows = out,
                                       .columns = in,
                                       .x_row = 1,
                                       .x_column = out,
                                       .scale = {1, out},
                                       .zero_point = {1, out},
                                       .group = std::max<int64_t>(size, 1)});
}

}  // namespace dequant::awq

namespace dequant {

const SchemeEntry kAwqScheme{{"awq", "AutoAWQ, GPTQModel, AutoRound", awq::kInputs, awq::kSettings},
                             &awq::plan_of};

}  // namespace dequant
