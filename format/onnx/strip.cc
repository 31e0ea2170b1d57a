// Removing QuantizeLinear and DequantizeLinear from activations, so that a float model remains.
#include "format/onnx/strip.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "format/io/errors.h"
#include "format/onnx/clip.h"
#include "format/onnx/code_chain.h"
#include "format/onnx/code_readers.h"
#include "format/onnx/encode.h"
#include "format/onnx/moving.h"
#include "format/onnx/region_plan.h"
#include "format/onnx/type_changes.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of memory that a removed node needs at most while the model is written and reported.
constexpr int64_t kStripMemory = 1536;

class Stripper {
 public:
  Stripper(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
           const StripOptions& options, StripReport& report, Reasons& reasons)
      : model_(model),
        constants_(constants),
        rewire_(rewire),
        facts_(model, files, rewire.scopes(), constants),
        ranges_(model, files, rewire.scopes(), constants),
        replacements_(rewire, facts_, ranges_, constants, options.clips),
        chains_(model, rewire.scopes(), facts_),
        readers_(model, rewire),
        clips_(rewire),
        options_(options),
        report_(report),
        reasons_(reasons),
        regions_(model, constants, rewire, [this](const Node& n) { return is_open(n); }),
        planner_(model, constants, rewire, facts_, replacements_, options.dtype),
        types_(rewire, facts_) {}

  Status run() {
    for (Graph* g : rewire_.scopes().graphs()) {
      for (Node& n : g->nodes) {
        if ((n.is_dequantize() || n.is_quantize()) && is_open(n))
          DEQUANT_CHECK(strip_region(*g, n));
      }
    }
    types_.apply();
    for (Graph* g : rewire_.scopes().graphs()) {
      for (Node& n : g->nodes) {
        if (n.is_dequantize() && is_open(n))
          DEQUANT_CHECK(take_and(&Stripper::strip_dequantize, *g, n));
      }
    }
    for (Graph* g : rewire_.scopes().graphs()) {
      for (Node& n : g->nodes) {
        if (n.is_quantize() && is_open(n))
          DEQUANT_CHECK(take_and(&Stripper::strip_quantize, *g, n));
      }
    }
    types_.finish();
    return {};
  }

 private:
  bool is_open(const Node& n) const {
    return !rewire_.removed(n) && options_.wanted(n) && n.inputs.size() >= 2 &&
           n.outputs.size() == 1;
  }

  /// Counts the memory for a node before each step of its removal.
  Status take_and(Status (Stripper::*step)(Graph&, Node&), Graph& graph, Node& node) {
    DEQUANT_CHECK(model_.take(kStripMemory));
    return (this->*step)(graph, node);
  }

  void stay(const Node& n, std::string reason) { reasons_[&n] = std::move(reason); }

  void done(const Node& n, std::string how) {
    reasons_.erase(&n);
    const bool trace = !rewire_.made(n) || how.starts_with("Clip");
    if (trace)
      report_.stripped.push_back({std::string(n.label()), n.op_type().str(), std::move(how)});
  }

  /// Makes a region float at once: nodes that moved codes then move floats.
  Status strip_region(Graph& graph, Node& node) {
    DEQUANT_TRY(const Region region, regions_.find(graph, node));
    const bool moves = std::any_of(region.moves.begin(), region.moves.end(),
                                   [](const Place& p) { return !p.node->is("Identity"); });
    if (!moves || (region.quantize.empty() && region.dequantize.empty())) return {};
    DEQUANT_CHECK(model_.take(kStripMemory * static_cast<int64_t>(region.nodes())));
    DEQUANT_TRY(RegionPlan plan, planner_.plan(region));
    if (plan.obstacle.empty()) return apply(region, plan);
    for (const Place& d : region.dequantize) {
      const Definition* x = rewire_.scopes().find(*d.graph, d.node->input(0));
      if (x == nullptr || x->node == nullptr || moving_operator(*x->node) == nullptr) continue;
      stay(*d.node, fmt::format("{} is computed by {}, and {}", escaped(d.node->input(0)),
                                escaped(x->node->op_type()), plan.obstacle));
    }
    return {};
  }

  Status apply(const Region& region, RegionPlan& plan) {
    for (const Place& p : region.moves) {
      const bool pads = moving_operator(*p.node)->demand == Demand::padding;
      if (pads && !p.node->input(2).empty()) rewire_.rename_input(*p.graph, *p.node, 2, "");
    }
    for (const MovedConstant& c : region.constants) {
      const Definition* d =
          rewire_.scopes().find(*c.place.graph, c.place.node->inputs[c.input].text);
      rewire_.rename_input(*c.place.graph, *c.place.node, c.input, plan.names.at(d));
    }
    for (Fold& f : plan.folds) report_.folds.push_back(std::move(f));
    const Place& one = region.one();
    for (Value* v : region.inputs) {
      changed_inputs_.emplace(v->name.str(),
                              element_from_onnx(v->elem_type).value_or(Element::uint8));
      DEQUANT_CHECK(
          types_.change(*one.graph, *one.node, *v, plan.type, report_.inputs, axis_of(plan, *v)));
    }
    for (Value* v : region.outputs) {
      DEQUANT_CHECK(
          types_.change(*one.graph, *one.node, *v, plan.type, report_.outputs, axis_of(plan, *v)));
    }
    for (size_t i = 0; i < region.quantize.size(); ++i) {
      const Place& q = region.quantize[i];
      const std::string source(q.node->input(0));
      put(*q.graph, *q.node, plan.quantize[i], *q.graph, source, plan.type, q.node);
    }
    for (const Place& d : region.dequantize) {
      const std::string source(d.node->input(0));
      const Definition* moved = rewire_.scopes().find(*d.graph, source);
      put(*d.graph, *d.node, plan.input, *d.graph, source, plan.type, moved);
    }
    for (const auto& [graph, name] : region.values) {
      types_.set_later(*graph, name, plan.type);
      ranges_.forget(*graph, name);
    }
    return {};
  }

  /// The axis of the scales in an input or output of the model, where they are several.
  std::optional<int64_t> axis_of(const RegionPlan& plan, const Value& value) const {
    const auto axis = plan.axes.find(rewire_.scopes().find(model_.graph, value.name));
    return axis == plan.axes.end() ? std::nullopt : std::optional(axis->second);
  }

  Status strip_dequantize(Graph& graph, Node& d) {
    Definition* x = rewire_.scopes().find(graph, d.input(0));
    if (x == nullptr) return {};  // folding has already set a reason
    if (x->kind == Definition::Kind::input && x->graph->owner == nullptr &&
        !x->graph->is_function) {
      return strip_input(graph, d, *x);
    }
    if (is_dynamic(graph, *x, d)) return strip_dynamic(graph, d, *x);
    DEQUANT_TRY(const CodeChain chain, chains_.before(*x));
    if (chain.quantize == nullptr) return {};
    Graph& qg = *chain.graph;
    Node& q = *chain.quantize;
    DEQUANT_TRY(const Resolved constant, constants_.resolve(qg, q.input(0)));
    if (!constant.varies) return {};  // a constant that folding has left stays quantized
    DEQUANT_TRY(std::string different, facts_.difference(qg, q, graph, d));
    if (!different.empty()) {
      stay(d, std::move(different));
      return {};
    }
    const std::string source(q.input(0));
    const auto before = facts_.source_type(qg, q);
    const Element after = facts_.output_type(graph, d);
    if (!is_output(after)) return {};  // no DequantizeLinear has such an output
    if (before && *before != after) {
      stay(d, fmt::format("the pair turns {} into {}", name(*before), name(after)));
      return {};
    }
    DEQUANT_TRY(const PairReplacement replacement,
                replacements_.of_pair(qg, q, after, chain.limits));
    if (!put(graph, d, replacement, qg, source, after, &q)) return {};
    retire_chain(*x);
    return {};
  }

  /// Removes the nodes of a chain that nothing reads, from its last value on. What is removed has
  /// no readers, so that no other chain leads along it again.
  void retire_chain(const Definition& x) {
    for (const Definition* at = &x; at != nullptr && at->node != nullptr;
         at = rewire_.scopes().find(*at->graph, at->node->input(0))) {
      const bool last = at->node->is_quantize();
      retire_if_unused(*at->graph, *at->node, last);
      if (last || !rewire_.removed(*at->node)) return;
    }
  }

  /// True where a DynamicQuantizeLinear quantizes x, and gives scale and zero point too.
  bool is_dynamic(const Graph& graph, const Definition& x, const Node& d) const {
    if (x.node == nullptr || !x.node->is("DynamicQuantizeLinear")) return false;
    const Node& q = *x.node;
    if (q.inputs.size() != 1 || q.outputs.size() != 3 || d.inputs.size() != 3) return false;
    for (size_t i = 0; i < 3; ++i) {
      const Definition* input = rewire_.scopes().find(graph, d.input(i));
      if (q.output(i) != d.input(i) || input == nullptr || input->node != &q) return false;
    }
    return true;
  }

  /// The range of a DynamicQuantizeLinear is that of its input: nothing is lost.
  Status strip_dynamic(Graph& graph, Node& d, const Definition& x) {
    lead_around(graph, d, *x.graph, x.node->input(0).str());
    retire_if_unused(*x.graph, *x.node, true);
    return {};
  }

  /// The quantized type of an input of the model, before it was changed.
  Element input_type(const Graph& graph, std::string_view name) const {
    const auto changed = changed_inputs_.find(name);
    if (changed != changed_inputs_.end()) return changed->second;
    return facts_.type_of(graph, name).value_or(Element::uint8);
  }

  /// Replaces `node` as decided; returns false if the node stays. Nodes of one graph with the same
  /// codes and limits share the Clip of the first of them.
  bool put(Graph& graph, Node& node, const PairReplacement& replacement, const Graph& source_graph,
           const std::string& source, Element type, const void* codes) {
    if (!replacement.stays.empty()) {
      stay(node, replacement.stays);
      return false;
    }
    if (!replacement.clip) {
      lead_around(graph, node, source_graph, source);
      return true;
    }
    const Node*& first = clipped_[{codes, replacement.limits, &graph}];
    if (first != nullptr && rewire_.stands_before(*first, node)) {
      lead_around(graph, node, graph, first->output(0).str());
      return true;
    }
    first = &node;
    done(node, clips_.put(graph, node, source, replacement.range, type));
    ValueRange range;
    range.low = replacement.range.low;
    range.high = replacement.range.high;
    ranges_.set(graph, node.outputs[0].text, range);
    return true;
  }

  /// Changes the uses of a node's output to `source`. An output of the graph keeps its name.
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
      rewire_.replace_node(graph, d, node_message(d.name, "Identity", {}, output), {source});
      return;
    }
    done(d, "nothing");
    for (const Use& u : uses) {
      if (u.node != nullptr) rewire_.rename_input(*u.graph, *u.node, u.input, source);
    }
    rewire_.retire_node(graph, d);
  }

  void retire_if_unused(Graph& graph, Node& node, bool tell) {
    if (rewire_.removed(node)) return;
    for (const Name& output : node.outputs) {
      if (rewire_.is_used(graph, output.text)) return;
    }
    if (tell) done(node, "nothing");
    rewire_.retire_node(graph, node);
  }

  /// Makes a quantized input of the model a float input, if only DequantizeLinear nodes read it.
  Status strip_input(Graph& graph, Node& d, Definition& x) {
    const std::string source(d.input(0));
    if (const auto kept = kept_inputs_.find(source); kept != kept_inputs_.end()) {
      stay(d, kept->second);
      return {};
    }
    const auto keep = [&](const char* why) {
      const std::string reason = fmt::format("the model's input {} {}", escaped(source), why);
      kept_inputs_.emplace(source, reason);
      stay(d, reason);
    };
    Value* value = nullptr;
    for (Value& v : x.graph->inputs) {
      if (v.name == source) value = &v;
    }
    const Element type = facts_.output_type(graph, d);
    if (!changed_inputs_.contains(source)) {  // else all its uses have been checked already
      for (const Use& u : rewire_.uses_of(graph, source)) {
        bool ok = u.node != nullptr && u.node->is_dequantize() && u.input == 0 &&
                  is_open(*u.node) && facts_.output_type(*u.graph, *u.node) == type;
        if (ok) {
          DEQUANT_TRY(ok, facts_.same_parameters(*u.graph, *u.node, graph, d));
        }
        if (ok) continue;
        keep("has users that need it quantized");
        return {};
      }
    }
    if (value == nullptr || !can_set_type(*value)) {
      keep("has no element type");
      return {};
    }
    DEQUANT_TRY(const PairReplacement replacement,
                replacements_.of_input(graph, d, input_type(graph, source), type));
    // The other nodes that read it have the same parameters, and are not looked at again.
    if (!replacement.stays.empty()) kept_inputs_.emplace(source, replacement.stays);
    if (replacement.stays.empty() && !changed_inputs_.contains(source)) {
      changed_inputs_.emplace(source, input_type(graph, source));
      DEQUANT_CHECK(types_.change(graph, d, *value, type, report_.inputs));
    }
    put(graph, d, replacement, *x.graph, source, type, &x);
    return {};
  }

  /// Makes a quantized output of the model a float output, if nothing else reads it.
  Status strip_quantize(Graph& graph, Node& q) {
    if (reasons_.contains(&q)) return {};  // of a constant that cannot be computed
    const std::string output = q.output(0).str();
    Value* value = nullptr;
    for (Value& v : graph.outputs) {
      if (v.name == output) value = &v;
    }
    const std::vector<Use> uses = rewire_.uses_of(graph, output);
    const bool is_output_only =
        std::all_of(uses.begin(), uses.end(), [](const Use& u) { return u.node == nullptr; });
    if (graph.owner != nullptr || graph.is_function || value == nullptr || !is_output_only) {
      if (uses.empty()) return {};
      DEQUANT_TRY(std::string reason, reason_of_readers(graph, q));
      stay(q, std::move(reason));
      return {};
    }
    const std::string source(q.input(0));
    const Element type = facts_.source_type(graph, q).value_or(Element::float32);
    if (!is_output(type) || !can_set_type(*value)) {
      stay(q, "the type of what it quantizes is not float or not known");
      return {};
    }
    DEQUANT_TRY(const PairReplacement replacement, replacements_.of_pair(graph, q, type));
    if (replacement.stays.empty()) {
      DEQUANT_CHECK(types_.change(graph, q, *value, type, report_.outputs));
    }
    put(graph, q, replacement, graph, source, type, &q);
    return {};
  }

  /// Why a QuantizeLinear stays: a DequantizeLinear of its output stays, or other nodes read the
  /// codes.
  Result<std::string> reason_of_readers(const Graph& graph, const Node& q) {
    DEQUANT_TRY(const CodeReading reading, readers_.of(graph, q.output(0)));
    const auto reason = reasons_.find(reading.dequantize);
    if (reading.as_codes || reason == reasons_.end())
      return std::string("its output is used as it is, quantized");
    return fmt::format("{}, which dequantizes it, stays: {}", escaped(reading.dequantize->label()),
                       reason->second);
  }

  Model& model_;
  Constants& constants_;
  Rewire& rewire_;
  QuantizerFacts facts_;
  ValueRanges ranges_;
  PairReplacements replacements_;
  CodeChains chains_;
  CodeReaders readers_;
  ClipWriter clips_;
  const StripOptions& options_;
  StripReport& report_;
  Reasons& reasons_;
  RegionFinder regions_;
  RegionPlanner planner_;
  TypeChanges types_;
  /// The foremost Clip node, by the QuantizeLinear or input that it clips.
  std::map<std::tuple<const void*, CodeLimits, const Graph*>, const Node*> clipped_;
  std::map<std::string, Element, std::less<>> changed_inputs_;  ///< with their old types
  std::map<std::string, std::string> kept_inputs_;              ///< with the reasons
};

}  // namespace

Status strip(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
             const StripOptions& options, StripReport& report, Reasons& reasons) {
  return Stripper(model, files, constants, rewire, options, report, reasons).run();
}

}  // namespace dequant::format::onnx
