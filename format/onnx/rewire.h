// Changing graphs: removing and replacing nodes, and renaming their inputs. Nodes and initializers
// that nothing uses after such a change are removed too.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/onnx/edit.h"
#include "format/onnx/made_node.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// Bytes of memory that the nodes take at most that replace an operator.
inline constexpr int64_t kExpandMemory = 4096;

/// Fields that are written in place of made nodes.
using Substitutes = std::unordered_map<const Node*, Pieces>;

/// `name`, or a longer name, for which `is_taken` is false. `last` has the last number that was
/// tried behind a name, as many names may begin alike.
template <class IsTaken>
std::string free_name(std::string name, IsTaken is_taken,
                      std::unordered_map<std::string, int64_t>&& last = {}) {
  if (is_taken(name)) name += "_";
  if (!is_taken(name)) return name;
  int64_t& number = last[name];
  std::string numbered;
  do {
    numbered = name + std::to_string(++number);
  } while (is_taken(numbered));
  return numbered;
}

/// Collects changes of a model's graphs in an Edit.
class Rewire {
 public:
  /// With `keep_unused` no unused nodes and initializers are removed. `assume_const` as in
  /// resolve_constant().
  Rewire(Model& model, Scopes& scopes, bool assume_const, bool keep_unused)
      : model_(model),
        scopes_(scopes),
        edit_(model),
        assume_const_(assume_const),
        keep_unused_(keep_unused) {}

  Edit& edit() { return edit_; }
  const Scopes& scopes() const { return scopes_; }
  bool assume_const() const { return assume_const_; }

  /// Removes a node and its uses of inputs. The caller must care for uses of its outputs.
  void remove_node(Graph& graph, Node& node);

  /// Removes a node whose outputs have no uses.
  void retire_node(Graph& graph, Node& node);

  /// Replaces a node by a NodeProto. `message` has all its fields but the inputs; `inputs` are the
  /// new inputs; `before` are fields that are written before the node.
  void replace_node(Graph& graph, Node& node, std::string message,
                    const std::vector<std::string>& inputs, Pieces before = {});

  /// Replaces a node of the file by made nodes, which are written at its place in this order. They
  /// define all its outputs; names of their other outputs must be fresh. They get the name of the
  /// node where they have none. Returns them, in order; they are in the graph from now on.
  std::vector<Node*> expand(Graph& graph, Node& node, const std::vector<MadeNode>& made);

  /// A node as expand() would make it in place of `original`, which is not in the graph.
  Node& unattached(const MadeNode& made, const Node& original);

  /// True for a node that expand() has made.
  bool made(const Node& node) const { return made_.contains(&node); }

  /// The node of the file that a made node replaces, maybe with others; of other nodes the node
  /// itself.
  const Node& original(const Node& node) const {
    const auto made = made_.find(&node);
    return made == made_.end() ? node : *made->second.expansion->original;
  }

  /// A name for a made node: that of `node`, which has one, with `what` appended; else empty.
  std::string label(const Node& node, std::string_view what) {
    return node.name.empty() ? std::string()
                             : fresh_name(node.name.str() + "_" + std::string(what));
  }

  /// Writes `with` in place of made nodes.
  void substitute(Edit& edit, const Substitutes& with) const;

  /// The field number of a node in its parent message.
  uint32_t field_number(const Node& node) const { return model_.frame(node.frame).number(); }

  /// Changes the name of one input of a node.
  void rename_input(Graph& graph, Node& node, size_t input, const std::string& name);

  /// `name`, or a longer name, that occurs nowhere in the model. It must be new in all graphs, as a
  /// name within a graph hides an equal name of the graphs around it.
  std::string fresh_name(std::string name);

  bool removed(const Node& node) const { return removed_nodes_.contains(&node); }
  bool replaced(const Node& node) const { return replacements_.contains(&node); }
  bool removed(const Tensor& tensor) const { return removed_tensors_.contains(&tensor); }

  /// True where `a` is written before `b`, another node of the same graph.
  bool stands_before(const Node& a, const Node& b) const;

  /// The uses of a name that have not been removed. Takes the time of all uses, removed ones too.
  std::vector<Use> uses_of(const Graph& graph, std::string_view name) const;

  /// True where uses_of() has a use, in the time of finding the name.
  bool is_used(const Graph& graph, std::string_view name) const {
    const Definition* d = scopes_.find(graph, name);
    return d != nullptr && d->live != 0;
  }

  /// Must be called once, as the last function: removes value_info and annotations of removed
  /// names. Fails with io or malformed where an earlier change could not read the model again.
  Status finish();

  size_t removed_initializers() const { return removed_tensors_.size(); }
  /// Nodes of the file that are gone without a replacement.
  size_t removed_nodes() const { return removed_count_; }

 private:
  using Key = std::pair<const Graph*, std::string_view>;

  /// The field of the file that has the name of an input.
  Result<Span> field_of_input(const Node& node, size_t input) const;
  /// Nodes that replace another one.
  struct Expansion {
    const Node* original;
    std::vector<Node*> nodes;
  };

  /// Marks a node as removed; its uses of inputs stay. False where it has been removed already.
  bool mark_removed(const Node& node);
  /// Enters the node, as it now is, in the edit.
  void write(const Node& node);
  Pieces pieces_of(const Node& node) const;
  Pieces pieces_of(const Expansion& expansion, const Substitutes& with) const;
  void let_go(const Graph& graph, std::string_view name);
  void drop(Definition& d, std::string_view name);
  void fill(Node& node, const MadeNode& made, const Node& original);
  std::span<Name> stored_names(const std::vector<std::string>& texts);
  int frame_around(const Node& node) const { return model_.frame(node.frame).parent; }

  Model& model_;
  Scopes& scopes_;
  Edit edit_;
  bool assume_const_;
  bool keep_unused_;
  std::unordered_set<const Node*> removed_nodes_;
  /// The replacement of a node without its inputs, which rename_input() may still change.
  struct Replacement {
    Pieces before;
    std::string message;
  };
  std::unordered_map<const Node*, Replacement> replacements_;
  std::deque<Expansion> expansions_;
  /// Made nodes: their expansion, their place in it, and their attributes as fields.
  struct Made {
    const Expansion* expansion;
    size_t index;
    Pieces attributes;
  };
  std::unordered_map<const Node*, Made> made_;
  size_t removed_count_ = 0;
  std::unordered_map<std::string, int64_t> last_numbers_;  ///< behind such beginnings of names
  std::unordered_set<const Tensor*> removed_tensors_;
  std::set<Key> gone_;
  Status status_;  ///< the first error, which finish() returns
};

}  // namespace dequant::format::onnx
