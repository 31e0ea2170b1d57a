// What strip() needs to know of a quantizing or dequantizing node: its parameters, the types around
// it, and the range that it lets through.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/model/report.h"
#include "format/onnx/constants.h"

namespace dequant::format::onnx {

/// What comes out of a pair of QuantizeLinear and DequantizeLinear: the numbers that the end codes
/// stand for, in the type that the DequantizeLinear yields.
struct PairRange {
  std::string unknown;  ///< why nothing is known; empty if all is
  bool single = false;  ///< one scale; else a range for each of several
  double low = 0;       ///< of several ranges what all hold
  double high = 0;
  double step = 0;  ///< between two numbers next to each other: the scale, of several the least
  std::vector<std::byte> low_bytes;  ///< of a single one, packed
  std::vector<std::byte> high_bytes;
};

/// Reads facts about nodes; holds nothing of its own.
class QuantizerFacts {
 public:
  QuantizerFacts(const Model& model, ExternalFiles& files, const Scopes& scopes,
                 Constants& constants)
      : model_(model), files_(files), scopes_(scopes), constants_(constants) {}

  /// True if both nodes are known to have the same scale, zero point, axis and block size.
  Result<bool> same_parameters(const Graph& qg, const Node& q, const Graph& dg, const Node& d);

  /// True if the node has one scale, and that is constant.
  Result<bool> is_per_tensor(const Graph& graph, const Node& node);

  /// The element type of a name where the model tells it: of inputs, constants and value_info.
  std::optional<Element> type_of(const Graph& graph, std::string_view name) const;

  /// The output type of a DequantizeLinear; float32 where the model does not tell.
  Element output_type(const Graph& graph, const Node& d) const;

  /// The type of what a QuantizeLinear takes: where the model does not tell, that of its scale.
  std::optional<Element> source_type(const Graph& graph, const Node& q) const;

  /// The type of what a QuantizeLinear yields.
  Element quantized_type(const Graph& graph, const Node& q) const;

  /// The range of codes of a type under the scale and zero point of a node.
  Result<PairRange> range(const Graph& graph, const Node& node, Element quantized, Element output);

  /// The scale (input 1) or zero point (input 2) of a node; a zero point left out is 0.
  Result<Listed> listed(const Graph& graph, const Node& node, size_t input);

 private:
  Result<std::optional<TensorData>> data_of(const Graph& graph, std::string_view name);
  Result<bool> same_constant(const Graph& ga, std::string_view a, const Graph& gb,
                             std::string_view b);

  const Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  Constants& constants_;
};

}  // namespace dequant::format::onnx
