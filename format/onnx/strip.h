// Taking QuantizeLinear and DequantizeLinear off activations, so that a plain float model remains.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "format/onnx/external.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A node that was taken out, and what stands in its place.
struct Stripped {
  std::string node;
  std::string op_type;
  std::string how;
};

/// A node that stays, and why.
struct Left {
  std::string node;
  std::string op_type;
  std::string domain;
  std::string output;
  std::string reason;
};

/// Takes out pairs QuantizeLinear -> DequantizeLinear with the same scale and zero point, and those
/// that dangle at the model's inputs and outputs, whose type becomes float. A pair whose zero point is
/// the lowest code also cut off what is below zero, which quantizers use to drop a Relu or Clip: in
/// its place stands a Clip to the pair's range. `wanted` says which nodes to touch.
Status strip(Model& model, ExternalFiles& files, Rewire& rewire,
             const std::function<bool(const Node&)>& wanted, std::vector<Stripped>& stripped,
             std::vector<Left>& left);

}  // namespace dequant::format::onnx
