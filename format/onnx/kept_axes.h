// Where nodes that move numbers put the slices of their inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/onnx/moving.h"
#include "format/onnx/quantizer.h"
#include "format/onnx/told_shapes.h"

namespace dequant::format::onnx {

/// A node that moves numbers from one of its inputs to one of its outputs.
struct Crossing {
  const Graph& graph;
  const Node& node;
  const MovingOperator& op;
  Sizes in;
  std::optional<Sizes> out;  ///< none: not told, or the output has no numbers of the input
};

/// The axes of an output along which the slices are those of an input, in the same order.
struct KeptAxes {
  static constexpr int64_t kLost = -1;

  std::vector<int64_t> to;  ///< for each axis of the input that of the output, or kLost
  std::string unknown;      ///< what must be known to tell more axes; empty: nothing
};

/// The axes that a node keeps. Fails with malformed or io.
Result<KeptAxes> kept_axes(const Model& model, QuantizerFacts& facts, const Crossing& c);

}  // namespace dequant::format::onnx
