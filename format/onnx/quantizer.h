// What strip() needs to know of a quantizing or dequantizing node: its parameters, the types around
// it, and whether values before it can be negative.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "format/onnx/dequantization.h"

namespace dequant::format::onnx {

/// Reads facts about nodes; holds nothing of its own.
class QuantizerFacts {
 public:
  QuantizerFacts(Model& model, ExternalFiles& files, const Scopes& scopes, bool assume_const)
      : model_(model), files_(files), scopes_(scopes), assume_const_(assume_const) {}

  /// True if both nodes are known to have the same scale, zero point, axis and block size.
  Result<bool> same_parameters(const Graph& qg, const Node& q, const Graph& dg, const Node& d);

  /// The element type of a name where the model tells it: of inputs, constants and value_info.
  std::optional<Element> type_of(const Graph& graph, std::string_view name) const;

  /// The output type of a DequantizeLinear; float32 where the model does not tell.
  Element output_type(const Graph& graph, const Node& d) const;

  /// The type of what a QuantizeLinear takes: where the model does not tell, that of its scale.
  std::optional<Element> source_type(const Graph& graph, const Node& q) const;

  /// The type of what a QuantizeLinear yields.
  Element quantized_type(const Graph& graph, const Node& q) const;

  /// A quantizer whose zero point is its lowest code: nothing negative passes.
  struct LowestZero {
    std::optional<TensorData>
        largest;  ///< what passes at most; none if that is not one known number
  };

  /// Nothing for other quantizers. `output` is the type that the dequantizer yields.
  Result<std::optional<LowestZero>> lowest_zero(const Graph& graph, const Node& q, Element output);

  /// Remembers that a node now is a Clip from zero on.
  void add_clip(const Node& node) { clips_.insert(&node); }

  /// True if no value of that name is negative, or if no Relu can have stood before it: an input of
  /// the model or a constant is trusted, unless it is an `operand` of arithmetic.
  bool cannot_be_negative(const Graph& graph, std::string_view name, bool operand = false,
                          int depth = 0) const;

 private:
  Result<std::optional<TensorData>> data_of(const Graph& graph, std::string_view name,
                                            bool assume_const);
  Result<bool> same_constant(const Graph& ga, std::string_view a, const Graph& gb,
                             std::string_view b);

  Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  bool assume_const_;
  std::unordered_set<const Node*> clips_;
};

}  // namespace dequant::format::onnx
