// Weights of compressed-tensors that have an element for each code, and those of floats in blocks.
#include "dialect/compressed_tensors.h"

#include <algorithm>

#include "checked.h"
#include "dialect/float_codes.h"
#include "dialect/matrix.h"
#include "text.h"

namespace dequant::compressed_tensors {
namespace {

using enum Element;

/// A format whose codes are floats in blocks of a length of its own.
struct FloatBlocks {
  Element code;
  Element scale;
  int64_t block;
};

std::optional<FloatBlocks> float_blocks(Format format) {
  switch (format) {
    case Format::nvfp4_pack_quantized: return FloatBlocks{float4e2m1, float8e4m3fn, 16};
    case Format::mxfp4_pack_quantized: return FloatBlocks{float4e2m1, float8e8m0, 32};
    case Format::mxfp6_pack_quantized: return FloatBlocks{float6e2m3, float8e8m0, 32};
    case Format::mxfp8_quantized: return FloatBlocks{float8e4m3fn, float8e8m0, 32};
    default: return {};
  }
}

Status check_absent(bool present, const char* tensor, const char* where) {
  return present ? Status(invalid(tensor, ": ", where, " have none")) : Status{};
}

/// Weights of nvfp4 and of the mx formats.
Result<Dense> dense_of_floats(const Dequantize& node, const FloatBlocks& blocks) {
  const char* const weight = node.format == Format::mxfp8_quantized ? "weight" : "weight_packed";
  constexpr const char* kWhere = "weights of floats in blocks";
  DEQUANT_CHECK(check_absent(node.weight_zero_point.has_value(), "weight_zero_point", kWhere));
  DEQUANT_CHECK(check_absent(node.weight_g_idx.has_value(), "weight_g_idx", kWhere));
  DEQUANT_TRY(auto shape, shape_in_elements({weight, node.weight}, blocks.code, 2));
  const Element scale = node.weight_scale.element;
  if (scale != blocks.scale && !(scale == uint8 && blocks.scale == float8e8m0)) {
    return invalid("weight_scale: element type ", name(scale), " is not ", name(blocks.scale));
  }
  Plan plan{.input = blocks.code, .scale = blocks.scale, .output = node.output};
  plan.parameters.result_rounding = bfloat16;
  plan.parameters.infinite_e8m0 = blocks.scale == float8e8m0;
  const bool has_global = node.weight_global_scale.has_value();
  if (node.format == Format::nvfp4_pack_quantized) {
    if (!has_global) return invalid("weight_global_scale: weights of nvfp4 need one");
    const TensorType& global = *node.weight_global_scale;
    if (global.element != float32 || checked_count(global.shape) != 1) {
      return invalid("weight_global_scale: ", name(global.element), to_string(global.shape),
                     " is not one float32");
    }
    plan.parameters.tensor_scale = TensorScale::divide;
  } else {
    DEQUANT_CHECK(check_absent(has_global, "weight_global_scale", "weights of the mx formats"));
  }
  DEQUANT_TRY(plan, float_blocks_plan(std::move(plan), weight, shape,
                                      {"weight_scale", node.weight_scale}, blocks.block));
  return Dense{std::move(plan), std::move(shape)};
}

Status check_weight(const Dequantize& node) {
  const Element weight = node.weight.element;
  if (weight != int8 && weight != float8e4m3fn) {
    return invalid("weight: element type ", name(weight), " is neither int8 nor float8e4m3fn");
  }
  if (node.format == (weight == int8 ? Format::float_quantized : Format::int_quantized)) {
    return invalid("weight: element type ", name(weight), " in format ",
                   weight == int8 ? "float-quantized" : "int-quantized");
  }
  DEQUANT_CHECK(check_absent(node.weight_global_scale.has_value(), "weight_global_scale",
                             "weights with float scales"));
  DEQUANT_CHECK(check_float_scale(node));
  DEQUANT_CHECK(check_rank("weight", node.weight.shape, kMaxRank));
  if (node.weight_zero_point) {
    const TensorType& zero = *node.weight_zero_point;
    if (weight != int8 || zero.element != int8) {
      return invalid("weight_zero_point: ", name(zero.element), " where weight is ", name(weight),
                     ": both must be int8");
    }
    if (!std::ranges::equal(zero.shape, node.weight_scale.shape)) {
      return invalid("weight_zero_point: shape ", to_string(zero.shape), " where weight_scale is ",
                     to_string(node.weight_scale.shape));
    }
  }
  return {};
}

/// Weights with an element for each code.
Result<Dense> dense_of_elements(const Dequantize& node) {
  DEQUANT_CHECK(check_weight(node));
  const Shape shape = node.weight.shape;
  Plan plan{.input = node.weight.element,
            .scale = node.weight_scale.element,
            .output = node.output,
            .has_zero_point = node.weight_zero_point.has_value()};
  plan.parameters.result_rounding = computing_type(plan.scale);
  std::vector<int64_t> block;
  if (node.strategy == Strategy::block) {
    block.assign(node.block_structure.begin(), node.block_structure.end());
    if (block.size() != 2) return invalid("block_structure: ", block.size(), " lengths, not 2");
    DEQUANT_CHECK(check_index(node, 0));
  } else {
    DEQUANT_TRY(const int64_t length, group_length(node, shape));
    if (node.strategy != Strategy::tensor) block = {1, length};
    if (node.weight_g_idx) {
      DEQUANT_CHECK(check_index(node, shape[1]));
      const int64_t groups = node.weight_scale.shape[1];
      DEQUANT_TRY(plan, matrix_plan(std::move(plan), {.rows = shape[0],
                                                      .columns = shape[1],
                                                      .x_row = shape[1],
                                                      .scale = {groups, 1},
                                                      .zero_point = {groups, 1},
                                                      .indexed = groups}));
      return Dense{std::move(plan), {shape.begin(), shape.end()}};
    }
  }
  DEQUANT_TRY(plan, grid_plan(std::move(plan), {"weight", node.weight},
                              {"weight_scale", node.weight_scale}, block));
  return Dense{std::move(plan), {shape.begin(), shape.end()}};
}

}  // namespace

std::optional<Element> computing_type(Element scale) {
  return scale == float32 ? std::nullopt : std::optional(scale);
}

Status check_float_scale(const Dequantize& node) {
  return check_float_type("weight_scale", node.weight_scale.element);
}

Status check_index(const Dequantize& node, int64_t columns) {
  if (!node.weight_g_idx) return {};
  if (node.strategy != Strategy::group) {
    return invalid("weight_g_idx: only strategy \"group\" has groups");
  }
  const TensorType& index = *node.weight_g_idx;
  if (index.element == int32 && index.shape.size() == 1 && index.shape[0] == columns) return {};
  return invalid("weight_g_idx: ", name(index.element), to_string(index.shape), " is not int32 [",
                 columns, "]");
}

Result<int64_t> group_length(const Dequantize& node, Shape weight) {
  const Shape scale = node.weight_scale.shape;
  if (node.strategy == Strategy::block) {
    return invalid("strategy: \"block\" is not one of tensor, channel, group");
  }
  if (node.strategy == Strategy::tensor) {
    if (checked_count(scale) == 1) return weight.empty() ? 1 : std::max<int64_t>(weight.back(), 1);
    return invalid("weight_scale: shape ", to_string(scale),
                   " where strategy \"tensor\" has one scale");
  }
  if (weight.size() != 2 || weight[0] < 0 || weight[1] < 0) {
    return invalid("weight: shape ", to_string(weight),
                   " where strategies other than \"tensor\" "
                   "need a matrix");
  }
  const bool channel = node.strategy == Strategy::channel;
  if (!channel && node.group_size == 0) {
    return invalid("group_size: there is none, and strategy \"group\" needs one");
  }
  if (!channel && node.group_size < 1) {
    return invalid("group_size: ", node.group_size, " is less than 1");
  }
  const int64_t length = channel ? std::max<int64_t>(weight[1], 1) : node.group_size;
  const std::array<int64_t, 2> needed{weight[0], channel ? 1 : ceil_div(weight[1], length)};
  if (std::ranges::equal(scale, needed)) return length;
  return invalid("weight_scale: shape ", to_string(scale), " where strategy \"",
                 channel ? "channel" : "group", "\" of a weight ", to_string(weight),
                 channel ? "" : concat(" in groups of ", length), " needs ", to_string(needed));
}

Result<Dense> dense_of(const Dequantize& node) {
  if (node.format == Format::pack_quantized) return dense_of_words(node);
  if (const auto blocks = float_blocks(node.format)) return dense_of_floats(node, *blocks);
  return dense_of_elements(node);
}

}  // namespace dequant::compressed_tensors
