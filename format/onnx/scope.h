// Names: what each one stands for in each graph, and who uses it.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dequant/status.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Somebody who reads a name.
struct Use {
  Graph* graph = nullptr;
  Node* node = nullptr;  ///< null: an output of the graph, or an annotation
  size_t input = 0;
  bool annotation = false;
};

/// What a name stands for.
struct Definition {
  enum class Kind { initializer, sparse_initializer, node, input };

  Kind kind = Kind::input;
  Graph* graph = nullptr;
  Node* node = nullptr;
  Initializer* initializer = nullptr;
  const Value* value = nullptr;  ///< of an input that is no initializer
  bool overridable = false;      ///< an initializer that is a graph input too
  std::vector<Use> uses;
  size_t live = 0;             ///< uses that are left; Rewire takes them away
  Definition* last = nullptr;  ///< of an Identity: the last of those that it leads to, maybe itself

  bool is_identity() const;
};

/// All names of a model.
class Scopes {
 public:
  /// Fails with malformed when a name is defined twice in a graph, when nodes depend on themselves
  /// or functions call themselves; with unsupported when a function redefines an operator that
  /// dequant evaluates.
  static Result<Scopes> build(Model& model);

  /// What the name stands for as seen from a graph, or null.
  Definition* find(const Graph& graph, std::string_view name) const;

  /// All graphs: the main one, functions, and all within them, outer before inner.
  const std::vector<Graph*>& graphs() const { return graphs_; }

 private:
  using Names = std::map<std::string_view, Definition>;

  void collect(Graph& graph);
  Status define(Graph& graph);
  void use(Graph& graph);
  void count_uses();
  Status check_order(Graph& graph) const;
  void follow_identities();

  std::vector<Graph*> graphs_;
  mutable std::unordered_map<const Graph*, Names> names_;
};

}  // namespace dequant::format::onnx
