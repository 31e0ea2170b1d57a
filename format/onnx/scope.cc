// The names of a model: the definition of each name in each graph, and its uses.
#include "format/onnx/scope.h"

#include "format/io/errors.h"
#include "format/onnx/functions.h"

namespace dequant::format::onnx {
namespace {

std::string where(const Graph& graph) {
  return fmt::format("{} {}", graph.is_function ? "function" : "graph", escaped(graph.name));
}

}  // namespace

bool Definition::is_identity() const {
  return node != nullptr && node->is("Identity") && node->inputs.size() == 1;
}

size_t Scopes::InnerNameHash::operator()(const InnerName& n) const {
  // Hashes addresses, which a file cannot choose.
  const std::hash<const void*> hash;
  return hash(n.graph) * 0x9E3779B97F4A7C15U ^ hash(n.name);
}

Result<Scopes> Scopes::build(Model& model) {
  Scopes scopes(model);
  model.store.clear_definitions();
  scopes.collect(model.graph);
  for (Graph& f : model.functions) scopes.collect(f);
  DEQUANT_CHECK(check_functions(model, scopes.graphs_));
  for (Graph* g : scopes.graphs_) DEQUANT_CHECK(scopes.define(*g));
  for (Graph* g : scopes.graphs_) scopes.use(*g);
  for (Graph* g : scopes.graphs_) DEQUANT_CHECK(scopes.check_order(*g));
  scopes.follow_identities();
  return scopes;
}

void Scopes::collect(Graph& graph) {
  graphs_.push_back(&graph);
  for (Node& node : graph.nodes) {
    for (Attribute& a : node.attributes) {
      for (Graph& inner : a.graphs) collect(inner);  // recursion as deep as read_model() allows
    }
  }
}

uint32_t Scopes::own(const Graph& graph, Text name) const {
  if (name.empty()) return 0;
  if (&graph == &model_->graph) return name.entry()->definition;
  const auto it = inner_.find({&graph, name.entry()});
  return it == inner_.end() ? 0 : it->second;
}

uint32_t Scopes::seen(const Graph& graph, Text name) const {
  for (const Graph* g = &graph; g != nullptr; g = g->outer) {
    if (const uint32_t index = own(*g, name); index != 0) return index;
  }
  return 0;
}

std::pair<Definition*, bool> Scopes::define(Graph& graph, Text name) {
  if (Definition* d = at(own(graph, name)); d != nullptr) return {d, false};
  Definition& d = definitions_.emplace_back();
  d.graph = &graph;
  const auto index = static_cast<uint32_t>(definitions_.size());
  if (&graph == &model_->graph) {
    name.entry()->definition = index;
  } else {
    inner_.emplace(InnerName{&graph, name.entry()}, index);
    Definition* const around = graph.outer == nullptr ? nullptr : find(*graph.outer, name);
    if (around != nullptr) around->hidden = d.hides = true;
  }
  return {&d, true};
}

Status Scopes::define(Graph& graph) {
  const auto twice = [&](std::string_view name) {
    return failure(ErrorCode::malformed, "{}: the name {} is defined twice", where(graph),
                   escaped(name));
  };
  for (Value& v : graph.inputs) {
    if (v.name.empty()) continue;  // an input of a function may have no name
    const auto [d, is_new] = define(graph, v.name);
    if (!is_new) return twice(v.name);
    d->other_ = &v;
  }
  for (Initializer& i : graph.initializers) {
    const auto [d, is_new] = define(graph, i.tensor.name);
    if (d->initializer() != nullptr) return twice(i.tensor.name);
    d->overridable = !is_new;
    d->kind = Definition::Kind::initializer;
    d->other_ = &i;
  }
  for (const SparseInitializer& s : graph.sparse_initializers) {
    if (s.name.empty()) continue;
    const auto [d, is_new] = define(graph, s.name);
    if (d->kind != Definition::Kind::input) return twice(s.name);
    d->kind = Definition::Kind::sparse_initializer;
  }
  for (Node& node : graph.nodes) {
    for (const Name& output : node.outputs) {
      if (output.text.empty()) continue;  // an optional output that is left out
      const auto [d, is_new] = define(graph, output.text);
      if (!is_new) return twice(output.text);
      d->kind = Definition::Kind::node;
      d->node = &node;
    }
  }
  return {};
}

void Scopes::use(Graph& graph, Text name, const Use& use) {
  Definition* d = find(graph, name);
  if (d == nullptr) return;
  add_use(*d, use);
  ++d->live;
}

void Scopes::use_inputs(Graph& graph, Node& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].text.empty()) continue;
    use(graph, node.inputs[i].text, {&graph, &node, static_cast<uint32_t>(i)});
  }
}

void Scopes::use(Graph& graph) {
  for (Node& node : graph.nodes) use_inputs(graph, node);
  for (const Value& v : graph.outputs) use(graph, v.name, {&graph, nullptr, 0});
  for (const Annotation& a : graph.annotations) {
    for (const Name& name : a.parameters)
      use(graph, name.text, {&graph, nullptr, Use::kAnnotation});
  }
}

void Scopes::add_node(Graph& graph, Node& node) {
  for (const Name& output : node.outputs) {
    if (output.text.empty()) continue;
    Definition& d = *define(graph, output.text).first;
    d.kind = Definition::Kind::node;
    d.node = &node;
    d.other_ = nullptr;
  }
  use_inputs(graph, node);
}

void Scopes::add_use(Definition& d, Use use) {
  const auto index = static_cast<uint32_t>(uses_.size() + 1);
  use.next = d.last_use_ == 0 ? index : std::exchange(uses_[d.last_use_ - 1].next, index);
  uses_.push_back(use);
  d.last_use_ = index;
}

/// Kahn's algorithm: removes nodes that wait for no other node. Nodes that remain depend on
/// themselves.
Status Scopes::check_order(Graph& graph) const {
  constexpr uint32_t kReached = UINT32_MAX;
  // Calls visit for the nodes of this graph that read an output of `node`, or whose inner graphs
  // have such nodes.
  const auto for_each_user = [&](const Node& node, auto&& visit) {
    for (const Name& output : node.outputs) {
      if (output.text.empty()) continue;
      for_each_use(*at(own(graph, output.text)), [&](const Use& use) {
        Node* user = use.node;
        if (user == nullptr) return;
        for (const Graph* g = use.graph; g != &graph && g != nullptr; g = g->outer) user = g->owner;
        visit(*user);
      });
    }
  };
  for (const Node& n : graph.nodes) for_each_user(n, [](Node& user) { ++user.waits_for; });
  std::deque<Node*> ready;
  const auto reach = [&](Node& n) {
    n.waits_for = kReached;
    ready.push_back(&n);
  };
  for (Node& n : graph.nodes) {
    if (n.waits_for == 0) reach(n);
    while (!ready.empty()) {
      const Node& next = *ready.back();
      ready.pop_back();
      for_each_user(next, [&](Node& user) {
        if (--user.waits_for == 0) reach(user);
      });
    }
  }
  for (const Node& n : graph.nodes) {
    if (n.waits_for != kReached) {
      return failure(ErrorCode::malformed, "{}: node {} depends on itself", where(graph),
                     escaped(n.label()));
    }
  }
  return {};
}

/// Follows each Identity once, however many names lead to it. Terminates, as there is no cycle.
void Scopes::follow_identities() {
  std::vector<uint32_t> chain;
  for (uint32_t start = 1; start <= definitions_.size(); ++start) {
    chain.clear();
    uint32_t index = start;
    while (index != 0 && at(index)->is_identity() && at(index)->last_name_ == 0) {
      chain.push_back(index);
      index = seen(*at(index)->graph, at(index)->node->input(0));
    }
    if (chain.empty()) continue;
    const bool joined = index != 0 && at(index)->is_identity();
    const uint32_t last = joined ? at(index)->last_name_ : chain.back();
    for (const uint32_t i : chain) at(i)->last_name_ = last;
  }
}

}  // namespace dequant::format::onnx
