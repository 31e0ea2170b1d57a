// Which values of a model are constant: those it holds, and those that QuantizeLinear and
// DequantizeLinear nodes make of them.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "format/onnx/dequantization.h"

namespace dequant::format::onnx {

/// What there is to compute, or why the node must stay.
struct Decision {
  std::optional<Dequantization> dequantization;  ///< of a QuantizeLinear as in Computation
  std::string reason;
  bool varies = false;    ///< an input of the node is no constant
  bool of_input = false;  ///< the reason tells of an input, not of the node
};

class Constants {
 public:
  /// An initializer that is a graph input counts only with `assume_const`.
  Constants(const Model& model, ExternalFiles& files, const Scopes& scopes, bool assume_const)
      : model_(model), files_(files), scopes_(scopes), assume_const_(assume_const) {}

  /// What a QuantizeLinear or DequantizeLinear computes, if its inputs are constant. Fails only
  /// when the file is broken.
  Result<Decision> consider(Graph& graph, Node& node) { return consider(graph, node, 0); }

  /// What a name stands for, if that is a constant.
  Result<Resolved> resolve(const Graph& graph, std::string_view name) {
    return resolve(graph, name, 0);
  }

 private:
  // `depth` counts the computations that the one looked at is for.
  Result<Decision> consider(Graph& graph, Node& node, int depth);
  Result<Resolved> resolve(const Graph& graph, std::string_view name, int depth);
  Result<Resolved> resolve_computed(std::string_view name, Definition& definition, Resolved plain,
                                    int depth);
  Result<Decision> inputs_of(Graph& graph, Node& node, int depth);
  Status plan_dequantize(Dequantization& d) const;
  Result<std::string> plan_quantize(Dequantization& d) const;
  Result<std::string> bad_zero_points(const Dequantization& d) const;

  const Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  const bool assume_const_;
  std::unordered_map<const Node*, std::shared_ptr<const Computation>> computed_;
};

}  // namespace dequant::format::onnx
