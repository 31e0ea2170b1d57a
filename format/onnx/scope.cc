// Names: what each one stands for in each graph, and who uses it.
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

Result<Scopes> Scopes::build(Model& model) {
  Scopes scopes;
  scopes.collect(model.graph);
  for (Graph& f : model.functions) scopes.collect(f);
  DEQUANT_CHECK(check_functions(model, scopes.graphs_));
  for (Graph* g : scopes.graphs_) DEQUANT_CHECK(scopes.define(*g));
  for (Graph* g : scopes.graphs_) scopes.use(*g);
  scopes.count_uses();
  for (Graph* g : scopes.graphs_) DEQUANT_CHECK(scopes.check_order(*g));
  scopes.follow_identities();
  return scopes;
}

void Scopes::collect(Graph& graph) {
  graphs_.push_back(&graph);
  for (Node& node : graph.nodes) {
    for (Attribute& a : node.attributes) {
      for (auto& inner : a.graphs) collect(*inner);  // as deep as the reader allowed
    }
  }
}

Status Scopes::define(Graph& graph) {
  Names& names = names_[&graph];
  const auto twice = [&](std::string_view name) {
    return failure(ErrorCode::malformed, "{}: the name {} is defined twice", where(graph),
                   escaped(name));
  };
  for (const Value& v : graph.inputs) {
    Definition d;
    d.graph = &graph;
    d.value = &v;
    if (!names.emplace(v.name, std::move(d)).second) return twice(v.name);
  }
  for (Initializer& i : graph.initializers) {
    Definition& d = names[i.tensor.name];
    if (d.initializer != nullptr) return twice(i.tensor.name);
    d.overridable = d.graph != nullptr;
    d.kind = Definition::Kind::initializer;
    d.value = nullptr;
    d.graph = &graph;
    d.initializer = &i;
  }
  for (const std::string& name : graph.sparse_initializers) {
    Definition& d = names[name];
    if (d.kind != Definition::Kind::input) return twice(name);
    d.kind = Definition::Kind::sparse_initializer;
    d.graph = &graph;
  }
  for (Node& node : graph.nodes) {
    for (const Name& output : node.outputs) {
      if (output.text.empty()) continue;  // an optional output that nobody wants
      Definition d;
      d.kind = Definition::Kind::node;
      d.graph = &graph;
      d.node = &node;
      if (!names.emplace(output.text, std::move(d)).second) return twice(output.text);
    }
  }
  return {};
}

void Scopes::use(Graph& graph) {
  for (Node& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].text.empty()) continue;
      Definition* d = find(graph, node.inputs[i].text);
      if (d != nullptr) d->uses.push_back({&graph, &node, i, false});
    }
  }
  for (const Value& v : graph.outputs) {
    Definition* d = find(graph, v.name);
    if (d != nullptr) d->uses.push_back({&graph, nullptr, 0, false});
  }
  for (const Annotation& a : graph.annotations) {
    for (const std::string& name : a.parameters) {
      Definition* d = find(graph, name);
      if (d != nullptr) d->uses.push_back({&graph, nullptr, 0, true});
    }
  }
}

void Scopes::count_uses() {
  for (auto& [graph, names] : names_) {
    for (auto& [name, d] : names) d.live = d.uses.size();
  }
}

Definition* Scopes::find(const Graph& graph, std::string_view name) const {
  for (const Graph* g = &graph; g != nullptr; g = g->outer) {
    const auto names = names_.find(g);
    if (names == names_.end()) continue;
    const auto it = names->second.find(name);
    if (it != names->second.end()) return &it->second;
  }
  return nullptr;
}

/// Kahn's algorithm: take away nodes that wait for none; what remains waits for itself.
Status Scopes::check_order(Graph& graph) const {
  std::unordered_map<const Node*, size_t> waits_for;
  std::unordered_map<const Node*, std::vector<const Node*>> waiting;
  for (auto& [name, d] : names_[&graph]) {
    if (d.node == nullptr) continue;
    for (const Use& use : d.uses) {
      if (use.node == nullptr) continue;
      const Node* user = use.node;  // or the node of this graph whose subgraph holds it
      for (const Graph* g = use.graph; g != &graph && g != nullptr; g = g->outer) user = g->owner;
      waiting[d.node].push_back(user);
      ++waits_for[user];
    }
  }
  std::vector<const Node*> ready;
  for (const Node& n : graph.nodes) {
    if (!waits_for.contains(&n)) ready.push_back(&n);
  }
  size_t done = 0;
  while (!ready.empty()) {
    const Node* n = ready.back();
    ready.pop_back();
    ++done;
    for (const Node* user : waiting[n]) {
      if (--waits_for[user] == 0) ready.push_back(user);
    }
  }
  if (done == graph.nodes.size()) return {};
  for (const Node& n : graph.nodes) {
    if (const auto it = waits_for.find(&n); it != waits_for.end() && it->second != 0) {
      return failure(ErrorCode::malformed, "{}: node {} depends on itself", where(graph),
                     escaped(n.label()));
    }
  }
  return {};
}

/// Each Identity is walked through once, however many names lead to it. Ends: there is no cycle.
void Scopes::follow_identities() {
  std::vector<Definition*> chain;
  for (auto& [graph, names] : names_) {
    for (auto& [name, d] : names) {
      Definition* at = &d;
      for (chain.clear(); at != nullptr && at->is_identity() && at->last == nullptr;
           at = find(*at->graph, at->node->inputs[0].text)) {
        chain.push_back(at);
      }
      if (chain.empty()) continue;
      Definition* last = at != nullptr && at->is_identity() ? at->last : chain.back();
      for (Definition* walked : chain) walked->last = last;
    }
  }
}

}  // namespace dequant::format::onnx
