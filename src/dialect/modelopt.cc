// Weights of ModelOpt.
#include "dequant/modelopt.h"

#include <algorithm>
#include <vector>

#include "checked.h"
#include "dialect/float_codes.h"
#include "dialect/scheme.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant::modelopt {
namespace {

using enum Element;

constexpr int64_t kBlockOfFp8 = 128;
constexpr int64_t kBlockOfNvfp4 = 16;

bool has_float_scales(Algorithm algorithm) { return algorithm < Algorithm::nvfp4; }

bool is_experts(const Dequantize& node) {
  return node.quant_algo == Algorithm::fp8_per_channel_per_token && node.weight.shape.size() == 3;
}

/// Demands one scale for each of the stacked experts, or one for each of their rows or columns.
Status check_scale_of_experts(Shape weight, Shape scale) {
  if (std::ranges::equal(scale, weight.first(1))) return {};
  if (scale.size() != 2 || scale[0] != weight[0] ||
      (scale[1] != weight[1] && scale[1] != weight[2])) {
    return invalid("weight_scale: shape ", to_string(scale), " where experts ", to_string(weight),
                   " have a scale each, or one for each row or column");
  }
  if (weight[1] != weight[2]) return {};
  return Error{
      ErrorCode::unsupported,
      concat("weight_scale: shape ", to_string(scale), " where experts ", to_string(weight),
             " have as many rows as columns: the scales may be of either")};
}

/// The scales as a tensor of the rank of the weight or of one. Of [rows, 1, columns, 1] the two
/// sizes that count blocks. ModelOpt gives the scale of a single block no dimensions.
std::vector<int64_t> grid_of(const Dequantize& node) {
  const Shape scale = node.weight_scale.shape;
  if (is_experts(node)) {
    if (scale.size() == 1) return {scale[0], 1, 1};
    if (scale[1] == node.weight.shape[1]) return {scale[0], scale[1], 1};
    return {scale[0], 1, scale[1]};
  }
  if (scale.size() == 4) return {scale[0], scale[2]};
  if (node.quant_algo == Algorithm::fp8_pb_wo && scale.empty()) return {1, 1};
  return {scale.begin(), scale.end()};
}

/// Demands the shape of scales that the algorithm has.
Status check_scale(const Dequantize& node) {
  const Shape scale = node.weight_scale.shape;
  const Shape weight = node.weight.shape;
  if (node.quant_algo == Algorithm::fp8) {
    if (checked_count(scale) == 1) return {};
    return invalid("weight_scale: shape ", to_string(scale), " where FP8 has one scale");
  }
  if (is_experts(node)) return check_scale_of_experts(weight, scale);
  if (weight.size() != 2) {
    return invalid("weight: shape ", to_string(weight), " is not that of a matrix");
  }
  if (node.quant_algo == Algorithm::fp8_pb_wo) {
    if (scale.empty() || scale.size() == 2) return {};
    if (scale.size() == 4 && scale[1] == 1 && scale[3] == 1) return {};
    return invalid("weight_scale: shape ", to_string(scale),
                   " is neither [rows, columns] nor [rows, 1, columns, 1] of blocks");
  }
  if (std::ranges::equal(scale, weight.first(1))) return {};
  return invalid("weight_scale: shape ", to_string(scale), " where ", weight[0],
                 " rows have a scale each");
}

/// FP8 and int8: a float32 scale.
Result<Dense> dense_of_elements(const Dequantize& node) {
  const Element needed = node.quant_algo == Algorithm::w8a8_sq_per_channel ? int8 : float8e4m3fn;
  if (node.weight.element != needed) {
    return invalid("weight: element type ", name(node.weight.element), " is not ", name(needed));
  }
  if (node.weight_scale.element != float32) {
    return invalid("weight_scale: element type ", name(node.weight_scale.element),
                   " is not float32");
  }
  if (node.weight_scale_2) return invalid("weight_scale_2: only weights of NVFP4 have one");
  const Shape shape = node.weight.shape;
  DEQUANT_CHECK(check_rank("weight", shape, kMaxRank));
  DEQUANT_CHECK(check_scale(node));
  Plan plan{.input = needed, .scale = float32, .output = node.output};
  if (node.output != float32) plan.parameters.scale_rounding = node.output;
  const bool blocks = node.quant_algo == Algorithm::fp8_pb_wo;
  const auto grid = grid_of(node);
  const std::vector<int64_t> lengths(blocks ? 2 : 0, kBlockOfFp8);
  DEQUANT_TRY(plan, grid_plan(std::move(plan), {"weight", node.weight},
                              {"weight_scale", {float32, grid}}, lengths));
  return Dense{std::move(plan), {shape.begin(), shape.end()}};
}

/// The parameters of NVFP4.
Result<Plan> nvfp4_plan(const Dequantize& node) {
  if (node.weight_scale.element != float8e4m3fn) {
    return invalid("weight_scale: element type ", name(node.weight_scale.element), " is not ",
                   name(float8e4m3fn));
  }
  if (!node.weight_scale_2) return invalid("weight_scale_2: weights of NVFP4 need one");
  const TensorType& second = *node.weight_scale_2;
  if (second.element != float32 || checked_count(second.shape) != 1) {
    return invalid("weight_scale_2: ", name(second.element), to_string(second.shape),
                   " is not one float32");
  }
  Plan plan{.input = uint4, .scale = float8e4m3fn, .output = node.output};
  plan.parameters.tensor_scale = TensorScale::multiply;
  plan.parameters.codebook = true;
  return plan;
}

/// The parameters of MXFP4 and MXFP8.
Result<Plan> mx_plan(const Dequantize& node, Element code) {
  const Element stored = node.weight_scale.element;
  if (stored != float8e8m0 && stored != uint8) {
    return invalid("weight_scale: element type ", name(stored), " is not ", name(float8e8m0));
  }
  if (node.weight_scale_2) return invalid("weight_scale_2: only weights of NVFP4 have one");
  return Plan{.input = code, .scale = float8e8m0, .output = node.output};
}

/// NVFP4, MXFP4 and MXFP8: a scale for each block along the last dimension.
Result<Dense> dense_of_blocks(const Dequantize& node) {
  const bool nvfp4 = node.quant_algo == Algorithm::nvfp4;
  const Element code = node.quant_algo == Algorithm::mxfp8 ? float8e4m3fn : float4e2m1;
  DEQUANT_TRY(auto shape, shape_in_elements({"weight", node.weight}, code, kMaxRank));
  DEQUANT_TRY(Plan plan, nvfp4 ? nvfp4_plan(node) : mx_plan(node, code));
  DEQUANT_TRY(
      plan, float_blocks_plan(std::move(plan), "weight", shape, {"weight_scale", node.weight_scale},
                              nvfp4 ? kBlockOfNvfp4 : 32));
  return Dense{std::move(plan), std::move(shape)};
}

/// The shape of a dense weight whose bytes have codes of two rows.
Result<std::vector<int64_t>> shape_of_pairs(const Dequantize& node) {
  const Shape packed = node.weight.shape;
  if (node.weight.element != uint8) {
    return invalid("weight: element type ", name(node.weight.element), " is not uint8");
  }
  const auto bytes = checked_count(packed);
  if (packed.size() < 2 || packed.size() > size_t{kMaxRank} || !bytes || *bytes > INT64_MAX / 8) {
    return invalid("weight: shape ", to_string(packed), " is not that of a matrix or of several");
  }
  std::vector<int64_t> shape(packed.begin(), packed.end());
  shape[shape.size() - 2] *= 2;
  return shape;
}

/// NVFP4, whose bytes have codes of two rows, and whose blocks run down the columns.
Result<Dense> dense_of_columns(const Dequantize& node) {
  DEQUANT_TRY(auto shape, shape_of_pairs(node));
  DEQUANT_TRY(Plan plan, nvfp4_plan(node));
  const int64_t in = shape[shape.size() - 2];
  const int64_t out = shape.back();
  std::vector<int64_t> scales = shape;
  scales[scales.size() - 2] = in / kBlockOfNvfp4;
  if (in % kBlockOfNvfp4 != 0 || !std::ranges::equal(node.weight_scale.shape, scales)) {
    return invalid("weight_scale: shape ", to_string(node.weight_scale.shape),
                   " where the dense weight, ", to_string(shape), ", has scales for each ",
                   kBlockOfNvfp4, " rows of a column");
  }
  plan.granularity = Granularity::strided;
  const int64_t row = std::max<int64_t>(out, 1);
  const int64_t pairs = out == 0 ? 0 : *checked_count(node.weight.shape) / out;
  // A matrix is whole blocks of rows, so that no block has rows of two matrices.
  const std::vector<Dimension> dimensions{
      {.size = pairs, .x = 2 * row, .scale = row, .y = 2 * row, .block = kBlockOfNvfp4 / 2},
      {.size = 2, .x = 1, .y = row},
      {.size = out, .x = 2, .scale = 1, .y = 1}};
  DEQUANT_TRY(plan, strided_plan(std::move(plan), dimensions));
  return Dense{std::move(plan), std::move(shape)};
}

/// int4, whose bytes have codes of two rows: the groups of a row.
Result<int64_t> groups_of_pairs(const Dequantize& node, Shape dense) {
  const Shape scale = node.weight_scale.shape;
  const int64_t in = dense.back();
  const bool rows_agree =
      scale.size() == dense.size() && std::equal(dense.begin(), dense.end() - 1, scale.begin());
  if (!rows_agree || scale.back() < 1 || in % scale.back() != 0) {
    return invalid("weight_scale: shape ", to_string(scale), " where the dense weight, ",
                   to_string(dense), ", has scales for each row in groups of the same length");
  }
  if (node.group_size < 0) return invalid("group_size: ", node.group_size, " is negative");
  if (node.group_size == 0 || node.group_size == in / scale.back()) return scale.back();
  return invalid("weight_scale: shape ", to_string(scale), ", so ", in / scale.back(),
                 " inputs share a scale, and group_size is ", node.group_size);
}

Result<Dense> dense_of_pairs(const Dequantize& node) {
  DEQUANT_TRY(auto shape, shape_of_pairs(node));
  if (node.weight_scale.element != float32) {
    return invalid("weight_scale: element type ", name(node.weight_scale.element),
                   " is not float32");
  }
  if (node.weight_scale_2) return invalid("weight_scale_2: only weights of NVFP4 have one");
  DEQUANT_TRY(const int64_t groups, groups_of_pairs(node, shape));
  const int64_t in = shape.back();
  const int64_t row = std::max<int64_t>(in, 1);
  Plan plan{
      .input = int4, .scale = float32, .output = node.output, .granularity = Granularity::strided};
  const std::vector<Dimension> dimensions{
      {.size = in == 0 ? 0 : *checked_count(node.weight.shape) / in,
       .x = 2 * row,
       .scale = 2 * groups,
       .y = 2 * row},
      {.size = 2, .x = 1, .scale = groups, .y = row},
      {.size = in, .x = 2, .scale = 1, .y = 1, .block = std::max<int64_t>(in / groups, 1)}};
  DEQUANT_TRY(plan, strided_plan(std::move(plan), dimensions));
  return Dense{std::move(plan), std::move(shape)};
}

Result<Dense> dense_of(const Dequantize& node) {
  if (node.transposed && node.quant_algo != Algorithm::nvfp4)
    return invalid("transposed: only weights of NVFP4 are");
  if (node.quant_algo == Algorithm::w4a16_awq) return dense_of_pairs(node);
  if (node.group_size != 0) return invalid("group_size: only weights of W4A16_AWQ have one");
  if (node.transposed) return dense_of_columns(node);
  return has_float_scales(node.quant_algo) ? dense_of_elements(node) : dense_of_blocks(node);
}

constexpr std::array kInputs{
    SchemeInput{"weight", true, "float8e4m3fn or int8, or uint8 with two codes in a byte"},
    SchemeInput{"weight_scale", true, "float32, float8e4m3fn or uint8, as quant_algo demands"},
    SchemeInput{"weight_scale_2", false, "of NVFP4: one float32"},
};
/// In the order of Algorithm.
constexpr std::array<std::string_view, 8> kAlgorithms{
    "FP8",       "FP8_PER_CHANNEL_PER_TOKEN",
    "FP8_PB_WO", "W8A8_SQ_PER_CHANNEL",
    "NVFP4",     "MXFP4",
    "MXFP8",     "W4A16_AWQ",
};
constexpr std::array kSettings{
    SchemeSetting{"quant_algo",
                  "FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, W8A8_SQ_PER_CHANNEL, "
                  "NVFP4 (the default), MXFP4, MXFP8 or W4A16_AWQ"},
    SchemeSetting{"group_size",
                  "of W4A16_AWQ: inputs that share a scale; 0, the default: as many "
                  "as the shapes say"},
    SchemeSetting{"transposed",
                  "of NVFP4: true: the dense weight is [..., in, out], with codes of two inputs in "
                  "a byte; false is the default"},
};

Result<SchemePlan> plan_of(const SchemeArguments& arguments) {
  DEQUANT_TRY(const size_t algorithm,
              arguments.one_of("quant_algo", kAlgorithms, static_cast<size_t>(Algorithm::nvfp4)));
  DEQUANT_TRY(const int64_t group_size, arguments.integer("group_size", 0));
  DEQUANT_TRY(const bool transposed, arguments.flag("transposed", false));
  const Dequantize node{static_cast<Algorithm>(algorithm),
                        arguments.type("weight"),
                        arguments.type("weight_scale"),
                        arguments.optional_type("weight_scale_2"),
                        arguments.output(),
                        group_size,
                        transposed};
  DEQUANT_TRY(auto dense, dense_of(node));
  const bool codebook = dense.plan.parameters.codebook;
  return SchemePlan{
      .plan = std::move(dense.plan),
      .shape = std::move(dense.shape),
      .x = *arguments.index("weight"),
      .scale = *arguments.index("weight_scale"),
      .tensor_scale = arguments.index("weight_scale_2"),
      .values = codebook ? std::span<const float>(kNvfp4Values) : std::span<const float>()};
}

}  // namespace

Result<Plan> dequantize(const Dequantize& node) {
  DEQUANT_CHECK(check_output(node.output));
  DEQUANT_TRY(auto dense, dense_of(node));
  return std::move(dense.plan);
}

}  // namespace dequant::modelopt

namespace dequant {

const SchemeEntry kModelOptScheme{
    {"modelopt", "NVIDIA Model Optimizer", modelopt::kInputs, modelopt::kSettings},
    &modelopt::plan_of};

}  // namespace dequant
