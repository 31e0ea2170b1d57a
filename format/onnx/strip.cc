// Taking QuantizeLinear and DequantizeLinear off activations, so that a plain float model remains.
#include "format/onnx/strip.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/io/numbers.h"
#include "format/onnx/encode.h"
#include "format/onnx/quantizer.h"

namespace dequant::format::onnx {
namespace {

constexpr const char* kNoSingleClip =
    "it may stand for a Relu, and no single Clip can take its place";

class Stripper {
 public:
  Stripper(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
           const std::function<bool(const Node&)>& wanted, std::vector<Stripped>& stripped,
           Reasons& reasons)
      : constants_(constants),
        rewire_(rewire),
        facts_(model, files, rewire.scopes(), rewire.assume_const()),
        wanted_(wanted),
        stripped_(stripped),
        reasons_(reasons) {}

  Status run() {
    for (Graph* g : rewire_.scopes().graphs()) {
      for (Node& n : g->nodes) {
        if (n.is_dequantize() && is_open(n)) DEQUANT_CHECK(strip_dequantize(*g, n));
      }
    }
    for (Graph* g : rewire_.scopes().graphs()) {
      for (Node& n : g->nodes) {
        if (n.is_quantize() && is_open(n)) DEQUANT_CHECK(strip_quantize(*g, n));
      }
    }
    return {};
  }

 private:
  bool is_open(const Node& n) const {
    return !rewire_.removed(n) && wanted_(n) && n.inputs.size() >= 2 && n.outputs.size() == 1;
  }

  void stay(const Node& n, std::string reason) { reasons_[&n] = std::move(reason); }

  void done(const Node& n, std::string how) {
    reasons_.erase(&n);
    stripped_.push_back({std::string(n.label()), n.op_type().str(), std::move(how)});
  }

  Status strip_dequantize(Graph& graph, Node& d) {
    Definition* x = rewire_.scopes().find(graph, d.input(0));
    if (x == nullptr) return {};  // stays for a reason that folding has given
    if (x->kind == Definition::Kind::input && x->graph->owner == nullptr &&
        !x->graph->is_function) {
      return strip_input(graph, d, *x);
    }
    const Chain chain = chain_before(*x);
    if (chain.quantize == nullptr) return {};
    Graph& qg = *chain.graph;
    Node& q = *chain.quantize;
    DEQUANT_TRY(const Resolved constant, constants_.resolve(qg, q.input(0)));
    if (!constant.varies) return {};  // nor may it become what it was before it was quantized
    DEQUANT_TRY(const bool same, facts_.same_parameters(qg, q, graph, d));
    if (!same) {
      stay(d, "its scale or zero point is not that of the QuantizeLinear before it");
      return {};
    }
    const std::string source(q.input(0));
    const auto before = facts_.source_type(qg, q);
    const Element after = facts_.output_type(graph, d);
    if (!is_output(after)) return {};  // no such DequantizeLinear is known
    if (before && *before != after) {
      stay(d, fmt::format("the pair turns {} into {}", name(*before), name(after)));
      return {};
    }
    DEQUANT_TRY(const auto zero, facts_.lowest_zero(qg, q, after));
    if (!zero || facts_.cannot_be_negative(qg, source)) {
      lead_around(graph, d, qg, source);
    } else if (zero->largest) {
      put_clip(graph, d, source, *zero->largest);
    } else {
      stay(d, kNoSingleClip);
      return {};
    }
    for (const auto& [g, node] : chain.between) retire_if_unused(*g, *node, false);
    retire_if_unused(qg, q, true);
    return {};
  }

  /// A QuantizeLinear and the nodes after it that change nothing, last first.
  struct Chain {
    Graph* graph = nullptr;
    Node* quantize = nullptr;
    std::vector<std::pair<Graph*, Node*>> between;
  };

  /// Goes back from a quantized value through Identity nodes, and Casts to the type it has already, as
  /// real exports write them.
  Chain chain_before(Definition& x) {
    Chain chain;
    std::vector<int64_t> casts;
    for (Definition* at = &x; at != nullptr && at->node != nullptr;) {
      Node& n = *at->node;
      if (n.is_quantize()) {
        const Element type = facts_.quantized_type(*at->graph, n);
        const bool same = std::all_of(casts.begin(), casts.end(),
                                      [&](int64_t to) { return to == onnx_code(type); });
        if (same) {
          chain.graph = at->graph;
          chain.quantize = &n;
        }
        break;
      }
      const Attribute* to = n.attribute("to");
      const bool passes =
          (n.is("Identity") || (n.is("Cast") && to != nullptr)) && n.inputs.size() == 1;
      if (!passes) break;
      if (to != nullptr) casts.push_back(to->i);
      chain.between.emplace_back(at->graph, &n);
      at = rewire_.scopes().find(*at->graph, n.input(0));
    }
    return chain;
  }

  /// Puts a Clip from zero to `largest` in the place of `node`.
  void put_clip(Graph& graph, Node& node, const std::string& source, const TensorData& largest) {
    const std::string output = node.output(0).str();
    float high_value = 0;
    for_each_number(largest.element, largest.bytes,
                    [&](double v) { high_value = static_cast<float>(v); });
    Pieces before;
    Pieces message;
    std::vector<std::string> inputs{source};
    if (graph.opsets.onnx.value_or(0) < 11) {  // whose QuantizeLinear knows float32 alone
      message = {node_message(node.name, "Clip", {source}, output) + float_attribute("min", 0.0F) +
                 float_attribute("max", high_value)};
    } else {
      const std::string low = fresh(output + "_min");
      const std::string high = fresh(output + "_max");
      const std::vector<std::byte> zero(largest.bytes.size());
      before = scalar(node, low, largest.element, zero);
      for (Piece& p : scalar(node, high, largest.element, largest.bytes)) {
        before.push_back(std::move(p));
      }
      inputs = {source, low, high};
      message = {node_message(node.name, "Clip", {source, low, high}, output)};
    }
    done(node, fmt::format("Clip to [0, {}]", high_value));
    rewire_.replace_node(graph, node, std::move(message), inputs, std::move(before));
    facts_.add_clip(node);
  }

  /// A Constant node that yields one number, to stand before `node`.
  Pieces scalar(const Node& node, const std::string& name, Element element,
                std::span<const std::byte> code) const {
    return field_of(rewire_.field_number(node),
                    constant_node("", name, scalar_tensor(name, element, code)));
  }

  /// A name that no graph of the model has: one within this could hide it.
  std::string fresh(std::string name) {
    if (names_.empty()) {
      for (const Graph* g : rewire_.scopes().graphs()) {
        for (const Value& v : g->inputs) names_.insert(v.name.str());
        for (const Initializer& i : g->initializers) names_.insert(i.tensor.name.str());
        for (const SparseInitializer& s : g->sparse_initializers) names_.insert(s.name.str());
        for (const Node& n : g->nodes) {
          for (const Name& output : n.outputs) names_.insert(output.text.str());
        }
      }
    }
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  /// Lets the users of d's output read `source` instead; an output of the graph keeps its name.
  void lead_around(Graph& graph, Node& d, const Graph& source_graph, const std::string& source) {
    const std::string output = d.output(0).str();
    const Definition* target = rewire_.scopes().find(source_graph, source);
    const std::vector<Use> uses = rewire_.uses_of(graph, output);
    bool plain = true;
    for (const Use& u : uses) {
      if (u.annotation()) continue;
      plain = plain && u.node != nullptr && rewire_.scopes().find(*u.graph, source) == target;
    }
    if (!plain) {
      done(d, "Identity");
      rewire_.replace_node(graph, d, {node_message(d.name, "Identity", {source}, output)},
                           {source});
      return;
    }
    done(d, "nothing");
    for (const Use& u : uses) {
      if (u.node != nullptr) rewire_.rename_input(*u.graph, *u.node, u.input, source);
    }
    rewire_.retire_node(graph, d);
  }

  void retire_if_unused(Graph& graph, Node& node, bool tell) {
    if (rewire_.removed(node) || !rewire_.uses_of(graph, node.outputs[0].text).empty()) return;
    if (tell) done(node, "nothing");
    rewire_.retire_node(graph, node);
  }

  /// A quantized input of the model that nobody but DequantizeLinear reads becomes a float input.
  Status strip_input(Graph& graph, Node& d, Definition& x) {
    const std::string source(d.input(0));
    Value* value = nullptr;
    for (Value& v : x.graph->inputs) {
      if (v.name == source) value = &v;
    }
    const Element type = facts_.output_type(graph, d);
    if (!changed_inputs_.contains(source)) {  // then all its users were found to be the same
      for (const Use& u : rewire_.uses_of(graph, source)) {
        bool ok = u.node != nullptr && u.node->is_dequantize() && u.input == 0 &&
                  is_open(*u.node) && facts_.output_type(*u.graph, *u.node) == type;
        if (ok) {
          DEQUANT_TRY(ok, facts_.same_parameters(*u.graph, *u.node, graph, d));
        }
        if (ok) continue;
        stay(d,
             fmt::format("the model's input {} has users that need it quantized", escaped(source)));
        return {};
      }
    }
    if (value == nullptr || !can_set_type(*value)) {
      stay(d, fmt::format("the model's input {} has no element type", escaped(source)));
      return {};
    }
    if (changed_inputs_.insert(source).second) set_type(*value, type);
    lead_around(graph, d, *x.graph, source);
    return {};
  }

  /// A quantized output of the model that nobody else reads becomes a float output.
  Status strip_quantize(Graph& graph, Node& q) {
    if (reasons_.contains(&q)) return {};  // of a constant, which cannot be computed
    const std::string output = q.output(0).str();
    const std::vector<Use> uses = rewire_.uses_of(graph, output);
    Value* value = nullptr;
    for (Value& v : graph.outputs) {
      if (v.name == output) value = &v;
    }
    if (graph.owner != nullptr || graph.is_function || value == nullptr) {
      if (!uses.empty()) stay(q, "its output is used as it is, quantized");
      return {};
    }
    for (const Use& u : uses) {
      if (u.node == nullptr) continue;
      stay(q, "its output is used as it is, quantized");
      return {};
    }
    const std::string source(q.input(0));
    const Element type = facts_.source_type(graph, q).value_or(Element::float32);
    if (!is_output(type) || !can_set_type(*value)) {
      stay(q, "the type of what it quantizes is not float or not known");
      return {};
    }
    DEQUANT_TRY(const auto zero, facts_.lowest_zero(graph, q, type));
    const bool clips = zero && !facts_.cannot_be_negative(graph, source);
    if (clips && !zero->largest) {
      stay(q, kNoSingleClip);
      return {};
    }
    set_type(*value, type);
    if (clips) {
      put_clip(graph, q, source, *zero->largest);
    } else {
      done(q, "Identity");
      rewire_.replace_node(graph, q, {node_message(q.name, "Identity", {source}, output)},
                           {source});
    }
    return {};
  }

  static bool can_set_type(const Value& value) { return value.elem_type_field.size() == 2; }

  void set_type(Value& value, Element type) {
    value.elem_type = onnx_code(type);
    // Both are one byte as varints, so the lengths of the messages around it hold.
    std::string field{'\x08', static_cast<char>(onnx_code(type))};
    rewire_.edit().replace(value.frame, value.elem_type_field, {std::move(field)});
  }

  Constants& constants_;
  Rewire& rewire_;
  QuantizerFacts facts_;
  const std::function<bool(const Node&)>& wanted_;
  std::vector<Stripped>& stripped_;
  Reasons& reasons_;
  std::set<std::string> names_;  ///< all of the model, once one was needed
  std::set<std::string> changed_inputs_;
};

}  // namespace

Status strip(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
             const std::function<bool(const Node&)>& wanted, std::vector<Stripped>& stripped,
             Reasons& reasons) {
  return Stripper(model, files, constants, rewire, wanted, stripped, reasons).run();
}

}  // namespace dequant::format::onnx
