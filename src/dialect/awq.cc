// AWQ weights in the layouts GEMM and GEMV.
#include "dequant/awq.h"

#include <algorithm>

#include "checked.h"
#include "dialect/linear.h"
#include "dialect/matrix.h"
#include "dialect/scheme.h"
#include "dialect/words.h"
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

/// A weight whose tensors agree.
struct Sizes {
  int64_t out;
  int64_t in;
  int64_t group;  ///< inputs that share a scale
  int64_t row;    ///< entries of a row of scales
};

Status check_zeros(const Dequantize& node, int64_t rows, int64_t words) {
  const std::array zeros{rows, words};
  if (std::ranges::equal(zeros, node.qzeros.shape)) return {};
  return invalid("qzeros: shape ", to_string(node.qzeros.shape), " where ", to_string(zeros),
                 " are needed");
}

Result<Sizes> gemm_sizes(const Dequantize& node) {
  const int64_t in = node.qweight.shape[0];
  const auto out = checked_mul(node.qweight.shape[1], kLanes);
  const Shape scales = node.scales.shape;
  if (!out || scales[1] != *out) {
    return invalid("scales: shape ", to_string(scales), " where qweight, ",
                   to_string(node.qweight.shape), ", has ", out.value_or(INT64_MAX), " outputs");
  }
  const int64_t group = node.group_size == -1 ? in : node.group_size;
  const int64_t groups = node.group_size == -1 ? 1 : ceil_div(in, group);
  if (scales[0] != groups && in != 0) {
    return invalid("scales: ", scales[0], " groups where ", in, " inputs in groups of ",
                   node.group_size, " need ", groups);
  }
  DEQUANT_CHECK(check_zeros(node, scales[0], node.qweight.shape[1]));
  return Sizes{*out, in, std::max<int64_t>(group, 1), *out};
}

/// AutoAWQ pads rows of zero points for the loads of its kernel, which has groups of these lengths.
std::optional<int64_t> gemv_words(int64_t in, int64_t group) {
  if (group < 128 && group != 64 && group != 32) return std::nullopt;
  const int64_t multiple = group >= 128 ? 1 : 128 / group;
  return ceil_div(ceil_div(in / group, kLanes), multiple) * multiple;
}

Result<Sizes> gemv_sizes(const Dequantize& node) {
  const int64_t out = node.qweight.shape[0];
  const auto in = checked_mul(node.qweight.shape[1], kLanes);
  if (!in) return invalid("qweight: shape ", to_string(node.qweight.shape), " has too many inputs");
  const int64_t group = node.group_size == -1 ? *in : node.group_size;
  const auto words = gemv_words(*in, group);
  if (!words || *in % group != 0) {
    return invalid("group_size: gemv has no groups of ", group, " for ", *in,
                   " inputs: a group has 32, 64, or 128 and more, and all have the same length");
  }
  const std::array scales{out, *words * kLanes};
  if (!std::ranges::equal(scales, node.scales.shape)) {
    return invalid("scales: shape ", to_string(node.scales.shape), " where ", *in,
                   " inputs in groups of ", group, " need ", to_string(scales));
  }
  DEQUANT_CHECK(check_zeros(node, out, *words));
  return Sizes{out, *in, group, scales[1]};
}

Result<Sizes> sizes_of(const Dequantize& node) {
  DEQUANT_CHECK(check_matrix(node.qweight, "qweight", kWords, "int32, uint32"));
  DEQUANT_CHECK(check_matrix(node.qzeros, "qzeros", kWords, "int32, uint32"));
  DEQUANT_CHECK(check_matrix(node.scales, "scales", kScales, "float16, bfloat16, float32"));
  if (node.group_size < 1 && node.group_size != -1) {
    return invalid("group_size: ", node.group_size, " is neither -1 nor a number of inputs");
  }
  DEQUANT_CHECK(check_output(node.output));
  return node.version == Version::gemm ? gemm_sizes(node) : gemv_sizes(node);
}

constexpr std::array kInputs{
    SchemeInput{"qweight", true, "int32 or uint32 [in, out / 8]; of gemv [out, in / 8]"},
    SchemeInput{"qzeros", true, "int32 or uint32 [groups, out / 8]; of gemv [out, words]"},
    SchemeInput{"scales", true,
                "float16, bfloat16 or float32 [groups, out]; of gemv [out, 8 * words]"},
};
/// In the order of Version.
constexpr std::array<std::string_view, 2> kVersions{"gemm", "gemv"};
constexpr std::array kSettings{
    SchemeSetting{"group_size", "inputs that share a scale; -1, the default: all"},
    SchemeSetting{"version", "gemm (the default) or gemv"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  Dequantize node{.qweight = arguments.type("qweight"),
                  .qzeros = arguments.type("qzeros"),
                  .scales = arguments.type("scales"),
                  .output = arguments.output()};
  DEQUANT_TRY(node.group_size, arguments.integer("group_size", -1));
  DEQUANT_TRY(const size_t version, arguments.one_of("version", kVersions, 0));
  node.version = static_cast<Version>(version);
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
  DEQUANT_TRY(const Sizes s, sizes_of(node));
  return std::array{s.out, s.in};
}

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_TRY(const Sizes s, sizes_of(node));
  Plan plan{
      .input = uint8, .scale = node.scales.element, .output = node.output, .has_zero_point = true};
  Matrix matrix{.rows = s.out, .columns = s.in, .group = s.group};
  if (node.version == Version::gemv) {
    set_stream(plan, 4, s.in);
    plan.parameters.zero_point = plan.input;
    matrix.x_row = s.in;
    matrix.scale = matrix.zero_point = {s.row, 1};
    return matrix_plan(std::move(plan), matrix);
  }
  const Packing words{CodeOrder::interleaved, 4, s.out, 0};
  plan.parameters.x_packing = words;
  plan.parameters.zero_point = uint8;
  plan.parameters.zero_point_packing = words;
  matrix.x_row = 1;
  matrix.x_column = s.out;
  matrix.scale = matrix.zero_point = {1, s.row};
  return matrix_plan(std::move(plan), matrix);
}

}  // namespace dequant::awq

namespace dequant {

const SchemeEntry kAwqScheme{{"awq", "AutoAWQ, GPTQModel, AutoRound", awq::kInputs, awq::kSettings},
                             &awq::plan_of};

}  // namespace dequant
