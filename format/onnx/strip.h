// Taking QuantizeLinear and DequantizeLinear off activations, so that a plain float model remains.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/onnx/constants.h"
#include "format/onnx/external.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A node that was taken out, and what stands in its place.
struct Stripped {
  std::string node;
  std::string op_type;
  std::string how;
};

/// Why nodes stay.
using Reasons = std::unordered_map<const Node*, std::string>;

/// Takes out pairs QuantizeLinear -> DequantizeLinear with the same scale and zero point, and those
/// that dangle at the model's inputs and outputs, whose type becomes float. A pair whose zero point is
/// the lowest code also cut off what is below zero, which quantizers use to drop a Relu or Clip: in
/// its place stands a Clip to the pair's range. `wanted` says which nodes to touch. `reasons` holds those
/// of the nodes that folding left, and afterwards those of all that stay.
Status strip(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
             const std::function<bool(const Node&)>& wanted, std::vector<Stripped>& stripped,
             Reasons& reasons);

}  // namespace dequant::format::onnx
