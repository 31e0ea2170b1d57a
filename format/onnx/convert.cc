// Converting a quantized ONNX model: decides for every node, then changes the graph, then writes.
#include "format/onnx/convert.h"

#include <algorithm>
#include <unordered_set>

#include "format/io/clock.h"
#include "format/io/errors.h"
#include "format/model/distinct_bytes.h"
#include "format/onnx/constants.h"
#include "format/onnx/external_entries.h"
#include "format/onnx/operators/expansion.h"
#include "format/onnx/operators/weights.h"
#include "format/onnx/opset_imports.h"
#include "format/onnx/quantized.h"
#include "format/onnx/requantized.h"
#include "format/onnx/save.h"
#include "format/onnx/share_folds.h"
#include "format/onnx/strip.h"

namespace dequant::format::onnx {
namespace {

// What a folded node, a Cast behind it, and one that stays, take at most while the model is written
// and reported.
constexpr int64_t kFoldMemory = 1600;
constexpr int64_t kCastMemory = 1024;
constexpr int64_t kLeftMemory = 512;

constexpr const char* kNotSelected = "not selected by include and exclude";

/// The names that the globs of --include and --exclude are matched with: of the node, of its
/// output, and of its codes.
bool wanted(const WriteOptions& options, const Node& node) {
  const WeightOperator* op = weight_operator(node);
  return options.selection.wants({node.name.c_str(), node.output(0).c_str(),
                                  node.input(op == nullptr ? 0 : op->codes).c_str()});
}

/// `first` counts bytes of stored tensors that no earlier node has.
Converted describe(const Fold& fold, const Rewire& rewire, int64_t first) {
  const Dequantization& d = fold.dequantization;
  const std::string_view own = d.x.name();
  const Shape shape = d.shape();
  return {rewire.original(*d.node).name.str(),
          d.node->domain().str(),
          d.node->output(0).str(),
          fold.cast_to ? fold.constant : d.node->output(0).str(),
          own.empty() ? d.node->input(0).str() : std::string(own),
          d.plan,
          d.axis,
          {shape.begin(), shape.end()},
          stored_bytes(d),
          first,
          fold.bytes};
}

/// Fails with unsupported where the operator sets have no Cast between two float types.
Status check_cast(const Opsets& opsets, Element from, Element to) {
  // Before opset 6 the attribute `to` is a string.
  const int64_t since = from == Element::bfloat16 || to == Element::bfloat16 ? 13 : 6;
  if (opsets.onnx.value_or(0) >= since) return {};
  return failure(ErrorCode::unsupported,
                 "dtype {} needs a Cast to {}, which ai.onnx has since opset {}; {}", name(from),
                 name(to), since,
                 opsets.onnx ? fmt::format("the model imports opset {}", *opsets.onnx)
                             : std::string("the model does not import ai.onnx"));
}

/// Data files of a model that is replaced stay, as other models may use them.
void warn_of_left_data(const std::string& output, std::vector<std::string>& warnings) {
  if (identity_of(output).size < 0) return;
  const std::string folder = output.substr(0, output.find_last_of('/') + 1);
  for (int taken = 0;; ++taken) {
    const std::string name = data_name(output, taken);
    if (!is_taken(folder + name)) return;
    warnings.push_back(fmt::format("{} stays, which the {} that is replaced may have named",
                                   escaped(name), escaped(output)));
  }
}

class Converter {
 public:
  Converter(Model& model, ExternalFiles& files, Scopes& scopes, const Options& own,
            const WriteOptions& options)
      : model_(model),
        files_(files),
        scopes_(scopes),
        own_(own),
        options_(options),
        constants_(model, files_, scopes, own.assume_const),
        rewire_(model, scopes, own.assume_const, model.has_training) {}

  Result<ConvertReport> convert(const std::string& output) {
    const auto tick = [this] { return options_.progress ? options_.progress(0, 0) : Status(); };
    DEQUANT_CHECK(check_external_entries(model_, scopes_, files_, tick));
    report_.warnings = model_.warnings.sentences();
    if (options_.overwrite == Overwrite::replace) warn_of_left_data(output, report_.warnings);
    if (own_.strip_qdq) DEQUANT_CHECK(expand_operators());
    DEQUANT_CHECK(decide());
    // The graph is changed only after all decisions, which are about the unchanged model.
    DEQUANT_CHECK(replace_operators());
    DEQUANT_CHECK(share_folds(model_, rewire_, folds_));
    for (const Fold& f : folds_)
      rewire_.remove_node(*f.dequantization.graph, *f.dequantization.node);
    release();
    if (own_.strip_qdq) {
      const auto touch = [this](const Node& n) { return rewire_.made(n) || wanted(options_, n); };
      StripReport stripped;
      DEQUANT_CHECK(strip(model_, files_, constants_, rewire_, {own_.clips, touch, options_.dtype},
                          stripped, reasons_));
      for (Stripped& t : stripped.stripped) report_.stripped.push_back(std::move(t));
      report_.inputs_changed = std::move(stripped.inputs);
      report_.outputs_changed = std::move(stripped.outputs);
      for (Fold& f : stripped.folds) {
        report_.converted.push_back(describe(f, rewire_, first_bytes(f.dequantization)));
        folds_.push_back(std::move(f));
      }
    }
    DEQUANT_CHECK(rewire_.finish());
    DEQUANT_CHECK(drop_imports(model_, rewire_));
    DEQUANT_TRY(std::string requantized, warning_of_requantized(rewire_, constants_));
    if (!requantized.empty()) report_.warnings.push_back(std::move(requantized));
    DEQUANT_CHECK(list_left());
    DEQUANT_CHECK(judge_left());

    WriteOptions save_options = options_;
    Phases phases;
    save_options.stream.phases = &phases;
    report_.seconds.decide = seconds_since(started_);
    DEQUANT_TRY(const Saved saved, save(model_, files_, rewire_, rewire_.edit(), folds_, output,
                                        own_.external_data, save_options));
    report_.removed_initializers = rewire_.removed_initializers();
    report_.removed_nodes = rewire_.removed_nodes();
    report_.bytes_in = model_.source.file().size();
    report_.bytes_out = saved.model_bytes;
    report_.data_file = saved.data_file;
    report_.data_bytes = saved.data_bytes;
    report_.share = saved.share;
    report_.seconds.set(phases);
    return std::move(report_);
  }

 private:
  Status expand_operators() {
    const auto is_wanted = [this](const Graph&, const Node& node,
                                  const ArithmeticOperator&) -> Result<bool> {
      if (options_.progress) DEQUANT_CHECK(options_.progress(0, 0));
      if (wanted(options_, node)) return true;
      reasons_[&node] = kNotSelected;
      return false;
    };
    const auto done = [this](Expanded e) {
      if (e.reason.empty()) {
        report_.stripped.push_back(
            {std::string(e.node.label()), e.node.op_type().str(), std::string(e.op.becomes)});
      } else {
        reasons_[&e.node] = std::move(e.reason);
      }
    };
    return expand_all(model_, files_, constants_, rewire_, {is_wanted, done});
  }

  Status decide() {
    for (Graph* graph : scopes_.graphs()) {
      for (Node& node : graph->nodes) {
        if (rewire_.removed(node)) continue;
        const WeightOperator* op = weight_operator(node);
        if (op == nullptr && !node.is_dequantize() && !node.is_quantize()) continue;
        if (options_.progress) DEQUANT_CHECK(options_.progress(0, 0));
        DEQUANT_CHECK(decide(*graph, node, op));
      }
    }
    return {};
  }

  /// `op` is null for a QuantizeLinear or DequantizeLinear.
  Status decide(Graph& graph, Node& node, const WeightOperator* op) {
    const auto stay = [&](std::string reason) -> Status {
      reasons_[&node] = std::move(reason);
      return model_.take(kLeftMemory);
    };
    if (!rewire_.made(node) && !wanted(options_, node)) {
      return node.is_quantize() ? Status() : stay(kNotSelected);
    }
    if (op != nullptr) return decide_weights(graph, node, *op);
    auto decision = constants_.consider(graph, node);
    if (!decision) {
      return in(fmt::format("{}: node {}", escaped(model_.path), escaped(node.label())),
                std::move(decision).error());
    }
    if (!decision->dequantization) {
      if (node.is_quantize() && decision->varies) return {};
      return stay(std::move(decision->reason));
    }
    if (node.is_quantize()) return {};  // computed as an input of folded nodes
    Fold& fold = folds_.emplace_back(Fold{*std::move(decision->dequantization)});
    DEQUANT_CHECK(complete(fold));
    return model_.take(kFoldMemory);
  }

  /// Decides on an operator that dequantizes its weights itself.
  Status decide_weights(Graph& graph, Node& node, const WeightOperator& op) {
    DEQUANT_CHECK(model_.take(kExpandMemory));
    Operands operands(model_, files_, constants_, graph, node);
    if (op.quantizes_activations && !own_.strip_qdq) operands.refuse(kArithmetic);
    auto weights = consider_weights(op, operands);
    if (!weights) {
      return in(fmt::format("{}: node {}", escaped(model_.path), escaped(node.label())),
                std::move(weights).error());
    }
    if (weights->empty()) reasons_[&node] = operands.reason();
    for (Weight& w : *weights) {
      DEQUANT_CHECK(model_.take(kFoldMemory));
      folds_.push_back(Fold{std::move(w.dequantization)});
      codes_.push_back(w.codes);
    }
    return {};
  }

  /// Sets the type and the size of the constant.
  Status complete(Fold& fold) {
    if (options_.dtype) DEQUANT_CHECK(set_type(fold, *options_.dtype));
    DEQUANT_TRY(fold.bytes, packed_bytes(fold.dequantization.plan.output,
                                         element_count(fold.dequantization.plan)));
    return {};
  }

  /// Puts float nodes in the places of the operators whose weights are folded.
  Status replace_operators() {
    size_t codes = 0;
    for (size_t i = 0; i < folds_.size();) {
      const Dequantization& d = folds_[i].dequantization;
      const WeightOperator* op = weight_operator(*d.node);
      size_t end = i + 1;
      while (op != nullptr && end < folds_.size() && folds_[end].dequantization.node == d.node)
        ++end;
      if (op != nullptr) {
        DEQUANT_CHECK(replace_operator(*op, i, std::span(codes_).subspan(codes, end - i)));
        codes += end - i;
      }
      i = end;
    }
    return {};
  }

  /// `first` is the fold of the first of its weights, whose codes are these inputs.
  Status replace_operator(const WeightOperator& op, size_t first, std::span<const size_t> codes) {
    const Dequantization& d = folds_[first].dequantization;
    const Node& node = *d.node;
    Operands operands(model_, files_, constants_, *d.graph, *d.node);
    DEQUANT_TRY(const std::vector<Node*> made, replace_by_float(op, operands, codes, rewire_));
    report_.stripped.push_back({std::string(node.label()), node.op_type().str(),
                                types_of(std::span(made).subspan(codes.size()))});
    for (size_t k = 0; k < codes.size(); ++k) {
      Fold& fold = folds_[first + k];
      fold.dequantization.node = made[k];
      DEQUANT_CHECK(complete(fold));
    }
    return {};
  }

  /// "MatMul, Add"
  static std::string types_of(std::span<Node* const> nodes) {
    std::string out;
    for (const Node* n : nodes) out += (out.empty() ? "" : ", ") + n->op_type().str();
    return out;
  }

  /// Gives the constant another type than the node's output, which a Cast then computes.
  Status set_type(Fold& fold, Element type) {
    Dequantization& d = fold.dequantization;
    const Element natural = std::exchange(d.plan.output, type);
    if (natural == type) return {};
    fold.cast_to = natural;
    fold.constant = rewire_.fresh_name(d.node->output(0).str() + fmt::format("_{}", name(type)));
    auto possible = check_cast(d.graph->opsets, type, natural);
    if (possible) return model_.take(kCastMemory);
    return in(fmt::format("{}: node {}", escaped(model_.path), escaped(d.node->label())),
              std::move(possible).error());
  }

  /// Removes nodes whose outputs only folded nodes use: pairs of weights, dequantized scales.
  void release() {
    std::vector<std::pair<const Graph*, const Node*>> todo;
    for (const Fold& f : folds_) todo.emplace_back(f.dequantization.graph, f.dequantization.node);
    std::unordered_set<const Node*> released;
    while (!todo.empty()) {
      const auto [graph, user] = todo.back();
      todo.pop_back();
      for (const Name& input : user->inputs) {
        const Definition* d = rewire_.scopes().find(*graph, input.text);
        if (d == nullptr || d->node == nullptr || d->live != 0 || model_.has_training) continue;
        if (!released.insert(d->node).second) continue;
        rewire_.retire_node(*d->graph, *d->node);
        reasons_.erase(d->node);
        todo.emplace_back(d->graph, d->node);
      }
    }
    std::erase_if(folds_, [&](const Fold& f) { return released.contains(f.dequantization.node); });
    for (const Fold& f : folds_)
      report_.converted.push_back(describe(f, rewire_, first_bytes(f.dequantization)));
  }

  /// Bytes of stored tensors that no earlier fold has.
  int64_t first_bytes(const Dequantization& d) {
    int64_t sum = 0;
    for_each_source(
        d, [&](const void* identity, int64_t bytes) { sum += distinct_.add(identity, bytes); });
    return sum;
  }

  /// Lists the quantized nodes that stay, in the order of the model.
  Status list_left() {
    const QuantizedOperators quantized(model_);
    for (const Graph* graph : scopes_.graphs()) {
      for (const Node& n : graph->nodes) {
        if (rewire_.removed(n) || rewire_.replaced(n)) continue;
        const auto known = reasons_.find(&n);
        std::string reason(known != reasons_.end() ? known->second : quantized.reason(n));
        if (reason.empty()) reason = cast_of_codes(scopes_, *graph, n);
        if (reason.empty()) continue;
        if (known == reasons_.end()) {
          DEQUANT_CHECK(model_.take(kLeftMemory));
          if (n.is_quantize() && !rewire_.made(n) && !wanted(options_, n)) reason = kNotSelected;
        }
        ++(n.is_quantize() || n.is_dequantize() ? pairs_ : operators_)[n.op_type().str()];
        report_.left.push_back({std::string(n.label()), n.op_type().str(), n.domain().str(),
                                n.output(0).str(), std::move(reason)});
      }
    }
    return {};
  }

  /// Warns that the model stays quantized, or fails with require_float.
  Status judge_left() {
    if (!operators_.empty())
      report_.warnings.push_back(fmt::format("still quantized: {}", counts_text(operators_)));
    if (!options_.require_float || report_.left.empty()) return {};
    const bool would_strip = !pairs_.empty() && !own_.strip_qdq;
    OperatorCounts all = operators_;
    for (const auto& [op, count] : pairs_) all[op] += count;
    return failure(ErrorCode::unsupported,
                   "{}: still quantized, where require-float wants none: {}{}",
                   escaped(model_.path), counts_text(all),
                   would_strip ? "; strip-qdq takes pairs off activations" : "");
  }

  const Clock::time_point started_ = Clock::now();
  Model& model_;
  ExternalFiles& files_;
  Scopes& scopes_;
  const Options& own_;
  const WriteOptions& options_;
  Constants constants_;
  Rewire rewire_;
  std::deque<Fold> folds_;
  std::vector<size_t> codes_;  ///< of the weights of operators, in the order of their folds
  Reasons reasons_;
  OperatorCounts pairs_;      ///< of the nodes that stay, QuantizeLinear and DequantizeLinear
  OperatorCounts operators_;  ///< of the nodes that stay, all others
  DistinctBytes distinct_;
  ConvertReport report_;
};

}  // namespace

Result<ConvertReport> convert(Model& model, ExternalFiles& files, Scopes& scopes,
                              const Options& own, const std::string& output,
                              const WriteOptions& options) {
  return Converter(model, files, scopes, own, options).convert(output);
}

}  // namespace dequant::format::onnx
