// Clip nodes that keep the range of a pair of QuantizeLinear and DequantizeLinear.
#pragma once

#include <string>

#include "format/onnx/quantizer.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

class ClipWriter {
 public:
  explicit ClipWriter(Rewire& rewire) : rewire_(rewire) {}

  /// Puts a Clip of `source` to a single range in the place of `node`; yields how the report calls
  /// it.
  std::string put(Graph& graph, Node& node, const std::string& source, const PairRange& range,
                  Element type);

 private:
  Pieces scalar(const Node& node, const std::string& name, Element element,
                std::span<const std::byte> code) const;

  Rewire& rewire_;
};

}  // namespace dequant::format::onnx
