// The shape of what a node makes of numbers that it moves.
#pragma once

#include <optional>

#include "format/onnx/kept_axes.h"

namespace dequant::format::onnx {

/// The shape of an output with numbers of `c.in`, by the arguments of the node; nothing where they
/// do not tell it. `second` is the shape of the node's second input, where that is known; `c.out`
/// is ignored. Fails with malformed or io.
Result<std::optional<Sizes>> moved_shape(const Model& model, QuantizerFacts& facts, Crossing c,
                                         const std::optional<Sizes>& second);

}  // namespace dequant::format::onnx
