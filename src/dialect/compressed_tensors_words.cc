// Weights of compressed-tensors whose codes are packed in words.
#include <algorithm>

#include "checked.h"
#include "dialect/compressed_tensors.h"
#include "dialect/matrix.h"
#include "dialect/words.h"
#include "text.h"

namespace dequant::compressed_tensors {
namespace {

using enum Element;

/// True for zero points that fill words; others have an element each.
bool has_packed_zeros(const Dequantize& node) {
  return node.weight_zero_point && node.weight_zero_point->element == int32;
}

/// Demands that the tensors are matrices, and the numbers in the range that the format has.
Status check(const Dequantize& node) {
  if (node.num_bits < 1 || node.num_bits > 8) {
    return invalid("num_bits: ", node.num_bits, " is not 1 to 8");
  }
  if (node.weight.element != int32 || node.weight.shape.size() != 2) {
    return invalid("weight_packed: ", name(node.weight.element), to_string(node.weight.shape),
                   " is not int32 [out, words]");
  }
  const Shape dense = node.weight_shape;
  if (dense.size() != 2 || !checked_count(dense) || dense[0] != node.weight.shape[0]) {
    return invalid("weight_shape: ", to_string(dense), " is not the shape of a matrix of ",
                   node.weight.shape[0], " rows");
  }
  if (node.weight_global_scale) {
    return invalid("weight_global_scale: weights with float scales have none");
  }
  return check_float_scale(node);
}

/// The words of 32 bits that a row of codes fills; nothing where the bits do not fit in 64 bits.
std::optional<int64_t> words_of(int64_t codes, int bits, Words words) {
  return words == Words::dense ? words_of_stream(codes, bits)
                               : std::optional(ceil_div(codes, 32 / bits));
}

/// True where rows of codes and of packed zero points have so many words.
bool fits(const Dequantize& node, Words words) {
  const auto bits = static_cast<int>(node.num_bits);
  const bool codes = words_of(node.weight_shape[1], bits, words) == node.weight.shape[1];
  return codes && (!has_packed_zeros(node) ||
                   words_of(node.weight_shape[0], bits, words) == node.weight_zero_point->shape[0]);
}

/// By the numbers of words, or by what the node says where both ways have these.
Result<Words> words_of(const Dequantize& node) {
  const bool dense = fits(node, Words::dense);
  const bool padded = fits(node, Words::padded);
  if (!dense && !padded) {
    return invalid("weight_packed: ", node.weight.shape[1], " words a row",
                   has_packed_zeros(node)
                       ? concat(" and ", node.weight_zero_point->shape[0], " of zero points")
                       : "",
                   " do not hold ", node.num_bits, "-bit codes of ", to_string(node.weight_shape));
  }
  if (!padded || (dense && 32 % node.num_bits == 0)) return Words::dense;
  if (!dense) return Words::padded;
  if (node.words) return *node.words;
  return Error{
      ErrorCode::unsupported,
      concat("weight_packed: ", node.num_bits, "-bit codes of ", to_string(node.weight_shape),
             " may be padded (to version 0.17.1) or dense (from 0.18.0 on) in ",
             node.weight.shape[1], " words a row, and no version that is given says which")};
}

/// Sets what the plan has of zero points, and their strides.
Result<MatrixStrides> zero_points(const Dequantize& node, CodeOrder order, Plan& plan) {
  const auto bits = static_cast<int32_t>(node.num_bits);
  const int32_t middle = 1 << (bits - 1);
  const bool one = node.strategy == Strategy::tensor;
  if (!node.weight_zero_point) {
    plan.implicit_zero_point = middle;
    return MatrixStrides{};
  }
  const TensorType& zero = *node.weight_zero_point;
  const Shape scale = node.weight_scale.shape;
  plan.has_zero_point = true;
  if (zero.element == int8) {  // without the offset that codes have
    if (!std::ranges::equal(zero.shape, scale)) {
      return invalid("weight_zero_point: shape ", to_string(zero.shape), " where weight_scale is ",
                     to_string(scale));
    }
    plan.parameters.zero_point = int8;
    plan.parameters.zero_point_offset = middle;
    return one ? MatrixStrides{} : MatrixStrides{scale[1], 1};
  }
  if (zero.element != int32 || one || zero.shape.size() != 2 || zero.shape[1] != scale[1]) {
    return invalid("weight_zero_point: ", name(zero.element), to_string(zero.shape),
                   " is neither int8 with the shape of weight_scale, ", to_string(scale),
                   ", nor int32 with a column for each group");
  }
  plan.parameters.zero_point = uint8;
  plan.parameters.zero_point_packing = {order, bits, node.weight_shape[0], scale[1]};
  return MatrixStrides{1, node.weight_shape[0]};
}

}  // namespace

Result<Dense> dense_of_words(const Dequantize& node) {
  DEQUANT_CHECK(check(node));
  const auto [rows, columns] = std::pair(node.weight_shape[0], node.weight_shape[1]);
  DEQUANT_TRY(const int64_t group, group_length(node, node.weight_shape));
  DEQUANT_CHECK(check_index(node, columns));
  if (has_packed_zeros(node) && node.weight_zero_point->shape.size() != 2) {
    return invalid("weight_zero_point: shape ", to_string(node.weight_zero_point->shape),
                   " is not that of a matrix");
  }
  DEQUANT_TRY(const Words words, words_of(node));
  const CodeOrder order = words == Words::dense ? CodeOrder::stream : CodeOrder::words;
  Plan plan{.input = uint8, .scale = node.weight_scale.element, .output = node.output};
  plan.parameters.result_rounding = computing_type(plan.scale);
  if (words == Words::dense) {
    set_stream(plan, node.num_bits, columns);
  } else {
    plan.parameters.x_packing = {order, static_cast<int32_t>(node.num_bits), columns, 0};
  }
  DEQUANT_TRY(const MatrixStrides zero, zero_points(node, order, plan));
  const bool channel = node.strategy == Strategy::channel;
  const bool grouped = node.strategy == Strategy::group;
  const int64_t groups = grouped ? node.weight_scale.shape[1] : 1;
  const MatrixStrides scale = grouped   ? MatrixStrides{groups, 1}
                              : channel ? MatrixStrides{1, 0}
                                        : MatrixStrides{};
  DEQUANT_TRY(plan, matrix_plan(std::move(plan), {.rows = rows,
                                                  .columns = columns,
                                                  .x_row = columns,
                                                  .scale = scale,
                                                  .zero_point = zero,
                                                  .group = group,
                                                  .indexed = node.weight_g_idx ? groups : 0}));
  return Dense{std::move(plan), {rows, columns}};
}

}  // namespace dequant::compressed_tensors
