// Scales and zero points of the inputs and outputs of operators of quantized arithmetic.
#pragma once

#include <vector>

#include "format/onnx/operators/arithmetic.h"
#include "format/onnx/operators/operands.h"

namespace dequant::format::onnx {

/// Refuses parameters of an activation unless they are constant, and the scale one number that is
/// finite and not zero. The arguments are indices of inputs. Fails with malformed or io.
Status check_pair(Operands& in, size_t scale_input, size_t zero_input);

/// Refuses the zero point of an activation unless it is one constant number, or absent.
Status check_zero_point(Operands& in, size_t zero_input);

/// The scales of a Conv's W, one or one for each output channel, of a constant whose shape
/// broadcasts to the output (FloatInput::scales_of_output); or refuses others.
Result<std::vector<float>> read_scales_of_output(Operands& in, const FloatInput& input,
                                                 const Constant& codes, const Constant& scale);

/// False where there is no zero point, or one 0 that stands for all; refuses others that have not
/// the shape of the scales.
Result<bool> needs_zero_point(Operands& in, size_t zero_input, Shape scales);

}  // namespace dequant::format::onnx
