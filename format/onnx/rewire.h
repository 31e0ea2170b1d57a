// Changing a graph: taking nodes out, putting others in, leading users elsewhere. What nothing uses
// any more because of that goes as well.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "format/onnx/edit.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

class Rewire {
 public:
  /// With `keep_unused` nothing goes but what is asked for.
  Rewire(Model& model, Scopes& scopes, bool assume_const, bool keep_unused)
      : model_(model),
        scopes_(scopes),
        edit_(model),
        assume_const_(assume_const),
        keep_unused_(keep_unused) {}

  Edit& edit() { return edit_; }
  const Scopes& scopes() const { return scopes_; }
  bool assume_const() const { return assume_const_; }

  /// Takes a node out and lets go of its inputs. Its outputs are somebody else's business.
  void remove_node(Graph& graph, Node& node);

  /// The same, when its outputs have no users left either.
  void retire_node(Graph& graph, Node& node);

  /// Puts a NodeProto in the place of a node, whose inputs are let go of. `message` has all fields
  /// but the inputs, `inputs` are the new ones, `before` are fields that stand before the node.
  void replace_node(Graph& graph, Node& node, std::string message,
                    const std::vector<std::string>& inputs, Pieces before = {});

  /// The field number of a node in the message around it.
  uint32_t field_number(const Node& node) const { return model_.frame(node.frame).number(); }

  /// Lets one input of a node read another name.
  void rename_input(Graph& graph, Node& node, size_t input, const std::string& name);

  /// This name, or a longer one, that stands nowhere in the model: a name within a graph may hide
  /// one of the graphs around it.
  std::string fresh_name(std::string name);

  bool removed(const Node& node) const { return removed_nodes_.contains(&node); }
  bool replaced(const Node& node) const { return replacements_.contains(&node); }
  bool removed(const Tensor& tensor) const { return removed_tensors_.contains(&tensor); }

  /// The uses of a name that are still there.
  std::vector<Use> uses_of(const Graph& graph, std::string_view name) const;

  /// Call once, last: drops notes about what is gone. Fails with io or malformed when the model
  /// could not be read again where a change needed it.
  Status finish();

  size_t removed_initializers() const { return removed_tensors_.size(); }
  size_t removed_nodes() const { return removed_nodes_.size(); }

 private:
  using Key = std::pair<const Graph*, std::string_view>;

  /// The field that holds the name of an input.
  Result<Span> field_of_input(const Node& node, size_t input) const;
  void write_replacement(const Node& node);
  void let_go(const Graph& graph, std::string_view name);
  void drop(Definition& d, std::string_view name);
  int frame_around(const Node& node) const { return model_.frame(node.frame).parent; }

  Model& model_;
  Scopes& scopes_;
  Edit edit_;
  bool assume_const_;
  bool keep_unused_;
  std::unordered_set<const Node*> removed_nodes_;
  /// Of a replaced node: what is written besides its inputs, which may still get other names.
  struct Replacement {
    Pieces before;
    std::string message;
  };
  std::unordered_map<const Node*, Replacement> replacements_;
  std::unordered_set<const Tensor*> removed_tensors_;
  std::set<Key> gone_;
  Status status_;  ///< the first failure, told by finish()
};

}  // namespace dequant::format::onnx
