// Changing graphs.
#include "format/onnx/rewire.h"

#include <algorithm>

#include "format/onnx/encode.h"
#include "format/onnx/evaluation/evaluation.h"

namespace dequant::format::onnx {
namespace {

/// The outputs, name and operator of a made node, as fields of NodeProto.
std::string made_message(const Node& node) {
  std::string message;
  for (const Name& output : node.outputs) message += text_field(field::node::output, output.text);
  if (!node.name.empty()) message += text_field(field::node::name, node.name);
  message += text_field(field::node::op_type, node.op_type());
  if (!node.domain().empty()) message += text_field(field::node::domain, node.domain());
  return message;
}

}  // namespace

bool Rewire::mark_removed(const Node& node) {
  if (!removed_nodes_.insert(&node).second) return false;
  if (!made(node)) ++removed_count_;
  write(node);
  return true;
}

void Rewire::remove_node(Graph& graph, Node& node) {
  if (!mark_removed(node)) return;
  for (const Name& input : node.inputs) let_go(graph, input.text);
}

void Rewire::retire_node(Graph& graph, Node& node) {
  for (const Name& output : node.outputs) gone_.insert({&graph, output.text});
  remove_node(graph, node);
}

void Rewire::write(const Node& node) {
  if (const auto made = made_.find(&node); made != made_.end()) {
    const Expansion& e = *made->second.expansion;
    edit_.replace(frame_around(node), model_.whole(*e.original), pieces_of(e, {}));
  } else {
    edit_.replace(frame_around(node), model_.whole(node), pieces_of(node));
  }
}

/// The fields that are written for a node: of the file, if it was removed or replaced, or made.
Pieces Rewire::pieces_of(const Node& node) const {
  if (removed(node)) return {};
  Pieces pieces;
  std::string inputs;
  for (const Name& input : node.inputs) inputs += text_field(field::node::input, input.text);
  Pieces message{std::move(inputs)};
  if (const auto known = replacements_.find(&node); known != replacements_.end()) {
    pieces = known->second.before;
    message.emplace_back(known->second.message);
  } else {
    message.emplace_back(made_message(node));
    const Pieces& attributes = made_.at(&node).attributes;
    message.insert(message.end(), attributes.begin(), attributes.end());
  }
  for (Piece& p : field_of(field_number(node), joined(std::move(message))))
    pieces.push_back(std::move(p));
  return pieces;
}

Pieces Rewire::pieces_of(const Expansion& expansion, const Substitutes& with) const {
  Pieces pieces;
  for (const Node* node : expansion.nodes) {
    const auto other = with.find(node);
    for (Piece& p : other == with.end() ? pieces_of(*node) : Pieces(other->second))
      pieces.push_back(std::move(p));
  }
  return pieces;
}

void Rewire::substitute(Edit& edit, const Substitutes& with) const {
  std::unordered_set<const Expansion*> changed;
  for (const auto& [node, pieces] : with) changed.insert(made_.at(node).expansion);
  for (const Expansion* e : changed)
    edit.replace(frame_around(*e->original), model_.whole(*e->original), pieces_of(*e, with));
}

std::vector<Node*> Rewire::expand(Graph& graph, Node& node, const std::vector<MadeNode>& made) {
  Expansion& expansion = expansions_.emplace_back(Expansion{&node, {}});
  Node* last = &node;
  for (const MadeNode& m : made) {
    Node& n = *(last = &graph.nodes.insert_after(*last, model_.store));
    fill(n, m, node);
    Made& of_node = made_[&n];
    of_node.expansion = &expansion;
    of_node.index = expansion.nodes.size();
    expansion.nodes.push_back(&n);
    for (const MadeAttribute& a : m.attributes) of_node.attributes.push_back(a.field);
    scopes_.add_node(graph, n);
  }
  removed_nodes_.insert(&node);
  write(*last);
  for (const Name& input : node.inputs) let_go(graph, input.text);
  return expansion.nodes;
}

Node& Rewire::unattached(const MadeNode& made, const Node& original) {
  Node& node = model_.store.create<Node>();
  fill(node, made, original);
  return node;
}

void Rewire::fill(Node& node, const MadeNode& made, const Node& original) {
  Operator& op = model_.store.create<Operator>();
  op.type = model_.store.text(made.op_type);
  op.domain = model_.store.text(made.domain);
  node.op = &op;
  node.name = made.name.empty() ? original.name : model_.store.text(made.name);
  node.frame = original.frame;
  node.inputs = stored_names(made.inputs);
  node.outputs = stored_names(made.outputs);
  std::vector<Attribute> attributes;
  for (const MadeAttribute& a : made.attributes) attributes.push_back(a.read);
  node.attributes = model_.store.array(std::span<const Attribute>(attributes));
}

std::span<Name> Rewire::stored_names(const std::vector<std::string>& texts) {
  std::vector<Name> names;
  for (const std::string& text : texts) names.push_back({model_.store.text(text)});
  return model_.store.array(std::span<const Name>(names));
}

void Rewire::replace_node(Graph& graph, Node& node, std::string message,
                          const std::vector<std::string>& inputs, Pieces before) {
  replacements_[&node] = {joined(std::move(before)), std::move(message)};
  for (size_t i = 0; i < inputs.size(); ++i) {  // add the new uses before the old ones are removed
    if (Definition* d = scopes_.find(graph, inputs[i]); d != nullptr) {
      scopes_.add_use(*d, {&graph, &node, static_cast<uint32_t>(i)});
      ++d->live;
    }
  }
  const std::span<Name> old = std::exchange(node.inputs, stored_names(inputs));
  write(node);
  for (const Name& input : old) let_go(graph, input.text);
}

void Rewire::rename_input(Graph& graph, Node& node, size_t input, const std::string& name) {
  if (Definition* d = scopes_.find(graph, name); d != nullptr) {
    scopes_.add_use(*d, {&graph, &node, static_cast<uint32_t>(input)});
    ++d->live;
  }
  const Text old = std::exchange(node.inputs[input].text, model_.store.text(name));
  if (replaced(node) || made(node)) {
    write(node);
  } else if (auto field = field_of_input(node, input); field) {
    edit_.replace(node.frame, *field, {text_field(field::node::input, name)});
  } else if (status_) {
    status_ = std::move(field).error();
  }
  let_go(graph, old);
}

Result<Span> Rewire::field_of_input(const Node& node, size_t input) const {
  Cursor cursor(model_.source, model_.frame(node.frame).payload());
  for (Field field;;) {
    DEQUANT_TRY(const bool more, cursor.next(field));
    if (!more) break;
    if (field.number == field::node::input && input-- == 0) return field.whole;
  }
  return Error{ErrorCode::malformed, "the model changed while being read"};
}

std::string Rewire::fresh_name(std::string name) {
  name = free_name(
      std::move(name), [&](const std::string& n) { return !model_.store.find(n).empty(); },
      std::move(last_numbers_));
  model_.store.text(name);
  return name;
}

bool Rewire::stands_before(const Node& a, const Node& b) const {
  const auto place = [this](const Node& node) {
    const auto made = made_.find(&node);
    return std::pair(model_.whole(node).begin, made == made_.end() ? 0 : made->second.index);
  };
  return place(a) < place(b);
}

std::vector<Use> Rewire::uses_of(const Graph& graph, std::string_view name) const {
  std::vector<Use> out;
  const Definition* d = scopes_.find(graph, name);
  if (d == nullptr) return out;
  scopes_.for_each_use(*d, [&](const Use& use) {
    const bool gone =
        use.node != nullptr && (removed(*use.node) || use.input >= use.node->inputs.size() ||
                                use.node->inputs[use.input].text != name);
    if (!gone) out.push_back(use);
  });
  return out;
}

void Rewire::let_go(const Graph& graph, std::string_view name) {
  if (name.empty()) return;
  // A removed node removes uses of its inputs too. A list avoids recursion.
  std::vector<std::pair<const Graph*, std::string>> todo{{&graph, std::string(name)}};
  while (!todo.empty()) {
    const auto [g, text] = std::move(todo.back());
    todo.pop_back();
    Definition* d = scopes_.find(*g, text);
    if (d == nullptr || d->live == 0 || --d->live != 0 || keep_unused_) continue;
    if (d->hidden) continue;  // some implementations read it in a graph within
    if (d->kind == Definition::Kind::initializer) {
      if (!d->overridable || assume_const_) drop(*d, text);
      continue;
    }
    // Only nodes that constants may come through are removed.
    if (d->kind != Definition::Kind::node || removed(*d->node)) continue;
    Node& node = *d->node;
    const bool passes = node.is("Constant") || node.is("Identity") || evaluated_operator(node);
    if (!passes || node.outputs.size() != 1) continue;
    mark_removed(node);
    gone_.insert({d->graph, node.outputs[0].text});
    for (const Name& input : node.inputs) todo.emplace_back(d->graph, input.text);
  }
}

void Rewire::drop(Definition& d, std::string_view name) {
  Initializer& i = *d.initializer();
  removed_tensors_.insert(&i.tensor);
  gone_.insert({d.graph, i.tensor.name});
  edit_.remove(model_.frame(i.tensor.frame).parent, model_.whole(i));
  if (!d.overridable) return;
  for (const Value& v : d.graph->inputs) {  // an input only because of the initializer
    if (v.name == name) edit_.remove(v.frame, v.whole);
  }
}

Status Rewire::finish() {
  for (Graph* graph : scopes_.graphs()) {
    std::vector<bool> dropped(graph->annotations.size());
    for (bool again = true; std::exchange(again, false);) {
      size_t k = 0;
      for (const Annotation& a : graph->annotations) {
        const size_t this_one = k++;
        if (dropped[this_one] || !gone_.contains({graph, a.tensor})) continue;
        dropped[this_one] = again = true;
        edit_.remove(a.frame, a.whole);
        for (const Name& name : a.parameters) let_go(*graph, name.text);
      }
    }
    for (const Value& v : graph->values) {
      if (gone_.contains({graph, v.name})) edit_.remove(v.frame, v.whole);
    }
  }
  return status_;
}

}  // namespace dequant::format::onnx
