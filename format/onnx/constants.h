// Finding the constants of a model: stored ones, and those that nodes compute from constants.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "format/onnx/dequantization.h"
#include "format/onnx/evaluation/evaluation.h"

namespace dequant::format::onnx {

/// The dequantization of a node, or why the node must stay.
struct Decision {
  std::optional<Dequantization> dequantization;  ///< for a QuantizeLinear as in Computation
  std::string reason;
  bool varies = false;    ///< an input of the node is no constant
  bool of_input = false;  ///< the reason is about an input, not about the node
};

/// Resolves names to constants, and keeps computations for later calls.
class Constants {
 public:
  /// An initializer that is also an input of the graph counts as constant only with `assume_const`.
  Constants(const Model& model, ExternalFiles& files, const Scopes& scopes, bool assume_const)
      : model_(model), files_(files), scopes_(scopes), assume_const_(assume_const) {}

  /// The dequantization of a QuantizeLinear or DequantizeLinear with constant inputs. Fails only
  /// where the file is broken: with malformed or io.
  Result<Decision> consider(Graph& graph, Node& node) { return consider(graph, node, 0); }

  /// The constant of a name as visible in `graph`. Fails as consider() does.
  Result<Resolved> resolve(const Graph& graph, std::string_view name) {
    return resolve(graph, name, 0);
  }

  /// True where the model has a function of the operator's name, which its runtime may call
  /// instead.
  bool is_redefined(const Node& node) const;

 private:
  // `depth` counts the computations that need the result.
  Result<Decision> consider(Graph& graph, Node& node, int depth);
  Result<Resolved> resolve(const Graph& graph, std::string_view name, int depth);
  Result<Resolved> resolve_computed(std::string_view name, Definition& definition,
                                    Resolved not_computed, int depth);
  Result<Resolved> evaluate(Graph& graph, Node& node, const EvaluatedOperator& op, int depth);
  Result<Decision> inputs_of(Graph& graph, Node& node, int depth);
  Status plan_dequantize(Dequantization& d) const;
  Result<std::string> plan_quantize(Dequantization& d) const;
  Result<std::string> bad_zero_points(const Dequantization& d) const;

  const Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  const bool assume_const_;
  std::unordered_map<const Node*, std::shared_ptr<const Computation>> computed_;
  /// Of nodes that are neither QuantizeLinear nor DequantizeLinear; `reason` lacks the name.
  std::unordered_map<const Node*, Resolved> evaluated_;
};

}  // namespace dequant::format::onnx
