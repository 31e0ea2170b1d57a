// Taking QuantizeLinear and DequantizeLinear off activations, so that a plain float model remains.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "format/model/report.h"
#include "format/onnx/constants.h"
#include "format/onnx/external.h"
#include "format/onnx/pair_replacement.h"
#include "format/onnx/quantizer.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

struct StripReport {
  std::vector<Stripped> stripped;
  std::vector<ChangedValue> inputs;
  std::vector<ChangedValue> outputs;
};

/// Why nodes stay.
using Reasons = std::unordered_map<const Node*, std::string>;

struct StripOptions {
  Clips clips = Clips::needed;
  std::function<bool(const Node&)> wanted;  ///< which nodes to touch
};

/// Takes out pairs QuantizeLinear -> DequantizeLinear with the same scale and zero point, and those
/// that dangle at the model's inputs and outputs, whose type becomes float. A pair also cut off
/// what is out of its range, which quantizers use to drop a Relu or Clip: a Clip keeps that.
/// `reasons` holds those of the nodes that folding left, and afterwards those of all that stay.
Status strip(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
             const StripOptions& options, StripReport& report, Reasons& reasons);

}  // namespace dequant::format::onnx
