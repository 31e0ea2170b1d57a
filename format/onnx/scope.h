// The names of a model: the definition of each name in each graph, and its uses.
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

/// A use of a name: by an input of a node, by an output of a graph, or by an annotation.
struct Use {
  static constexpr uint32_t kAnnotation = UINT32_MAX;

  Graph* graph = nullptr;
  Node* node = nullptr;  ///< null: an output of the graph, or an annotation
  uint32_t input = 0;    ///< index of the node's input; of an annotation kAnnotation
  uint32_t next = 0;     ///< used by Scopes: the next use of the definition, an index plus 1

  bool annotation() const { return input == kAnnotation; }
};

/// The definition of a name: an initializer, the output of a node, or an input of a graph.
struct Definition {
  enum class Kind : uint8_t { initializer, sparse_initializer, node, input };

  Graph* graph = nullptr;
  Node* node = nullptr;  ///< of a node's output
  Kind kind = Kind::input;
  bool overridable = false;  ///< an initializer that is also an input of the graph
  /// A graph around this one, or within it, has a value of that name, too. ONNX forbids it, and
  /// which of the two is read depends on the implementation and on other uses of the name.
  bool hides = false;
  bool hidden = false;
  uint32_t live = 0;  ///< uses that Rewire has not removed

  /// The initializer, or null.
  Initializer* initializer() const {
    return kind == Kind::initializer ? static_cast<Initializer*>(other_) : nullptr;
  }
  /// The input, where that is no initializer; else null.
  Value* value() const { return kind == Kind::input ? static_cast<Value*>(other_) : nullptr; }
  bool is_identity() const;

 private:
  friend class Scopes;
  void* other_ = nullptr;  ///< the Initializer or the Value
  // Indices plus 1 in Scopes, 0: none.
  uint32_t last_use_ = 0;   ///< the uses are a ring: its `next` is the first use
  uint32_t last_name_ = 0;  ///< of an Identity, see Scopes::last()
};

/// The definitions and uses of all names of a model. A model may have one Scopes at a time.
class Scopes {
 public:
  /// Collects the names of a model, which must outlive the result. Fails with malformed when a name
  /// is defined twice in a graph or when nodes depend on themselves, and as check_functions() does.
  static Result<Scopes> build(Model& model);

  /// The definition of a name as visible in a graph, or null.
  Definition* find(const Graph& graph, Text name) const { return at(seen(graph, name)); }
  Definition* find(const Graph& graph, std::string_view name) const {
    return find(graph, model_->store.find(name));
  }

  /// Calls visit(const Use&) for each use of a definition, in the order in which they were added.
  template <class Visit>
  void for_each_use(const Definition& d, Visit&& visit) const {
    for (uint32_t i = d.last_use_; i != 0;) {
      i = uses_[i - 1].next;
      visit(uses_[i - 1]);
      if (i == d.last_use_) break;
    }
  }
  void add_use(Definition& d, Use use);

  /// Adds a node that was made: it defines its outputs from now on, and uses its inputs.
  void add_node(Graph& graph, Node& node);

  /// For the output of an Identity: the definition at the start of the chain of Identity nodes that
  /// leads to it, an Identity too; maybe `d` itself.
  Definition* last(const Definition& d) const { return at(d.last_name_); }

  /// All graphs: the main graph, functions, and the graphs within them, outer before inner.
  const std::vector<Graph*>& graphs() const { return graphs_; }

 private:
  /// A name of a graph other than the main graph.
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
  /// The index plus 1 of the definition of a name by this graph itself; 0: none.
  uint32_t own(const Graph& graph, Text name) const;
  /// The same for this graph and the graphs around it.
  uint32_t seen(const Graph& graph, Text name) const;
  /// The definition of a name in its graph, and true if this call added it.
  std::pair<Definition*, bool> define(Graph& graph, Text name);
  Status define(Graph& graph);
  void use(Graph& graph);
  void use_inputs(Graph& graph, Node& node);
  void use(Graph& graph, Text name, const Use& use);
  Status check_order(Graph& graph) const;
  void follow_identities();

  Model* model_;
  std::vector<Graph*> graphs_;
  mutable std::deque<Definition> definitions_;
  std::deque<Use> uses_;
  /// Definitions of inner graphs. Those of the main graph, nearly all, are in Text::Entry.
  std::unordered_map<InnerName, uint32_t, InnerNameHash> inner_;
};

}  // namespace dequant::format::onnx
