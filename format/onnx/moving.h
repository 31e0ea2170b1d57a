// Operators that move quantized numbers and compute none: a DequantizeLinear may stand before or
// behind them.
#pragma once

#include <optional>
#include <string>

#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Which inputs and outputs of an operator have the numbers that it moves.
enum class Carries : uint8_t {
  first,
  all,
  all_outputs,
  second_and_third,
  into_indices,  ///< the first input; the output has indices of its numbers
};

/// What must hold besides for float numbers to move as their codes do.
enum class Demand : uint8_t {
  nothing,
  order,    ///< greater codes are greater numbers
  windows,  ///< of MaxPool: order, and no window is padding alone
  padding,  ///< of Pad: the padding has the code of zero
  nearest,  ///< of Resize: in mode nearest, without a number for what lies outside
};

/// Along which axes an operator moves whole slices, in their order: along such an axis each slice
/// may have a scale of its own.
enum class Slices : uint8_t {
  of_none,      ///< along no axis, or along none that dequant looks for
  of_all,       ///< along each axis
  of_equal,     ///< along axes, counted from the last one, whose size does not change
  of_others,    ///< along all axes but that of its attribute
  of_gathered,  ///< likewise, and the indices have axes in place of that one
  of_unlisted,  ///< along all axes but those of its input or attribute `axes`
  of_batch_and_channels,
  of_unpadded,  ///< along axes without padding
  of_permuted,  ///< along each axis, which gets the place that `perm` says
  of_counted,   ///< along axes with the same size, and as many elements before or behind them
};

/// A row of the table of operators.
struct MovingOperator {
  std::string_view name;
  Carries carries;
  Demand demand;
  Slices slices = Slices::of_none;
  std::string_view axis = {};  ///< the attribute of Slices::of_others and of_gathered
  int64_t otherwise = 0;       ///< its default
};

/// The row of a node's operator, or null.
const MovingOperator* moving_operator(const Node& node);

/// True where the input with this index has numbers that are moved.
bool carries_input(const MovingOperator& op, size_t input);

/// The number of outputs, from the first on, that have numbers that are moved.
size_t carried_outputs(const MovingOperator& op, const Node& node);

/// Scale and zero point of the quantized numbers, and their float type.
struct MovedNumbers {
  double scale = 0;       ///< the least one; NaN if one is NaN
  double zero_point = 0;  ///< NaN if there are several
  Element type = Element::float32;
  int64_t opset = 0;  ///< of ai.onnx
};

/// Why a node moves floats otherwise than codes; empty where it does not. `padding` is the constant
/// value of a Pad, if it is known. Fails with malformed or io.
Result<std::string> moves_otherwise(const Model& model, const MovingOperator& op, const Node& node,
                                    const MovedNumbers& numbers, std::optional<double> padding);

}  // namespace dequant::format::onnx
