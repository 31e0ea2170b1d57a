// Clip nodes that limit numbers to the range of a removed pair of QuantizeLinear and
// DequantizeLinear.
#pragma once

#include <string>

#include "format/onnx/quantizer.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// Replaces nodes by Clip nodes.
class ClipWriter {
 public:
  explicit ClipWriter(Rewire& rewire) : rewire_(rewire) {}

  /// Replaces `node` by a Clip of `source` to the range, which must be `single`. Returns the text
  /// of the report about it.
  std::string put(Graph& graph, Node& node, const std::string& source, const PairRange& range,
                  Element type);

 private:
  Pieces scalar(const Node& node, const std::string& name, Element element,
                std::span<const std::byte> code) const;

  Rewire& rewire_;
};

}  // namespace dequant::format::onnx
