// Names: what each one stands for in each graph, and who uses it.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dequant/status.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Somebody who reads a name: a node, an output of a graph, or an annotation.
struct Use {
  static constexpr uint32_t kAnnotation = UINT32_MAX;

  Graph* graph = nullptr;
  Node* node = nullptr;  ///< null: an output of the graph, or an annotation
  uint32_t input = 0;    ///< index of the node's input; of an annotation kAnnotation
  uint32_t next = 0;     ///< of Scopes: where its ring of uses goes on, an index plus 1

  bool annotation() const { return input == kAnnotation; }
};

/// What a name stands for.
struct Definition {
  enum class Kind : uint8_t { initializer, sparse_initializer, node, input };

  Graph* graph = nullptr;
  Node* node = nullptr;  ///< of a node's output
  Kind kind = Kind::input;
  bool overridable = false;  ///< an initializer that is a graph input too
  uint32_t live = 0;         ///< uses that are left; Rewire takes them away

  Initializer* initializer() const {
    return kind == Kind::initializer ? static_cast<Initializer*>(other_) : nullptr;
  }
  /// Of an input that is no initializer.
  Value* value() const { return kind == Kind::input ? static_cast<Value*>(other_) : nullptr; }
  bool is_identity() const;

 private:
  friend class Scopes;
  void* other_ = nullptr;  ///< the Initializer or the Value
  // Indices plus 1 in Scopes, 0: none.
  uint32_t last_use_ = 0;   ///< from where a ring leads to the first
  uint32_t last_name_ = 0;  ///< of an Identity, see Scopes::last()
};

/// All names of a model. A model has one Scopes at a time.
class Scopes {
 public:
  /// Fails with malformed when a name is defined twice in a graph, when nodes depend on themselves
  /// or functions call themselves; with unsupported when a function redefines an operator that
  /// dequant evaluates.
  static Result<Scopes> build(Model& model);

  /// What the name stands for as seen from a graph, or null.
  Definition* find(const Graph& graph, Text name) const { return at(seen(graph, name)); }
  Definition* find(const Graph& graph, std::string_view name) const {
    return find(graph, model_->store.find(name));
  }

  /// Calls visit(const Use&) for each use of a definition, in the order of their addition.
  template <class Visit>
  void for_each_use(const Definition& d, Visit&& visit) const {
    for (uint32_t i = d.last_use_; i != 0;) {
      i = uses_[i - 1].next;
      visit(uses_[i - 1]);
      if (i == d.last_use_) break;
    }
  }
  void add_use(Definition& d, Use use);

  /// Of an Identity: the definition of the last Identity that its input leads to, maybe itself.
  Definition* last(const Definition& d) const { return at(d.last_name_); }

  /// All graphs: the main one, functions, and all within them, outer before inner.
  const std::vector<Graph*>& graphs() const { return graphs_; }

 private:
  /// A name of a graph that is not the main one.
  struct InnerName {
    const Graph* graph;
    const Text::Entry* name;
    friend bool operator==(const InnerName&, const InnerName&) = default;
  };
  struct InnerNameHash {
    size_t operator()(const InnerName& n) const;
  };

  explicit Scopes(Model& model) : model_(&model) {}

  void collect(Graph& graph);
  Definition* at(uint32_t index) const { return index == 0 ? nullptr : &definitions_[index - 1]; }
  /// The index plus 1 of what a graph itself defines by that name, 0: nothing.
  uint32_t own(const Graph& graph, Text name) const;
  /// The same for all that a graph sees.
  uint32_t seen(const Graph& graph, Text name) const;
  /// The definition of a name in its graph, and whether it was made by this call.
  std::pair<Definition*, bool> define(Graph& graph, Text name);
  Status define(Graph& graph);
  void use(Graph& graph);
  Status check_order(Graph& graph) const;
  void follow_identities();

  Model* model_;
  std::vector<Graph*> graphs_;
  mutable std::deque<Definition> definitions_;
  std::deque<Use> uses_;
  /// Names of the main graph, which has nearly all, know their definitions themselves.
  std::unordered_map<InnerName, uint32_t, InnerNameHash> inner_;
};

}  // namespace dequant::format::onnx
