// Removing QuantizeLinear and DequantizeLinear from activations, so that a float model remains.
#pragma once

#include <deque>
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
#include "format/onnx/save.h"

namespace dequant::format::onnx {

/// What strip() has changed.
struct StripReport {
  std::vector<Stripped> stripped;
  std::vector<ChangedValue> inputs;
  std::vector<ChangedValue> outputs;
  std::deque<Fold> folds;  ///< constants whose codes other nodes moved before they were dequantized
};

/// Why nodes stay, by the node.
using Reasons = std::unordered_map<const Node*, std::string>;

/// Options of strip().
struct StripOptions {
  Clips clips = Clips::needed;
  std::function<bool(const Node&)> wanted;  ///< true for nodes that may be removed
  std::optional<Element> dtype;             ///< the type that folded constants get; none: their own
};

/// Removes pairs QuantizeLinear -> DequantizeLinear with the same scale and zero point. Also
/// removes a DequantizeLinear at an input of the model and a QuantizeLinear at an output, which
/// then become floats. Between the nodes of a pair other nodes may move the codes, which then
/// move floats. A pair also limits numbers to its range, and quantizers omit a Relu or Clip
/// for that; a new Clip then has the same effect. `reasons` has the nodes that folding has left,
/// and gets all nodes that stay. Fails with malformed, limit or io.
Status strip(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
             const StripOptions& options, StripReport& report, Reasons& reasons);

}  // namespace dequant::format::onnx
