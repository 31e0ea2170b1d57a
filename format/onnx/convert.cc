// From a quantized model to a float one: decide for every node, change the graph, write.
#include "format/onnx/convert.h"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "format/io/errors.h"
#include "format/onnx/constants.h"
#include "format/onnx/external_entries.h"
#include "format/onnx/inputs.h"
#include "format/onnx/opset_imports.h"
#include "format/onnx/quantized.h"
#include "format/onnx/requantized.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

// What a folded node, and one that stays, take at most while the model is written and reported.
constexpr int64_t kFoldMemory = 1600;
constexpr int64_t kLeftMemory = 512;

constexpr const char* kNotSelected = "not selected by include and exclude";

/// The names that --include and --exclude look at: the node's, its output's, and that of x.
bool matches(const std::string& glob, const Node& node) {
  const auto match = [&](Text text) {
    return !text.empty() && ::fnmatch(glob.c_str(), text.c_str(), 0) == 0;
  };
  return match(node.name) || match(node.output(0)) || match(node.input(0));
}

bool wanted(const ConvertOptions& options, const Node& node) {
  const auto any = [&](const std::vector<std::string>& globs) {
    return std::any_of(globs.begin(), globs.end(), [&](const auto& g) { return matches(g, node); });
  };
  return (options.include.empty() || any(options.include)) && !any(options.exclude);
}

/// `first` are the bytes that no node before it takes.
Folded describe(const Fold& fold, int64_t first) {
  const Dequantization& d = fold.dequantization;
  const TensorType x = d.x.type();
  Folded f{d.node->name.str(),
           d.node->domain().str(),
           d.node->output(0).str(),
           std::string(d.x.name()),
           d.plan,
           d.axis,
           {x.shape.begin(), x.shape.end()},
           stored_bytes(d),
           first,
           fold.bytes};
  if (f.x.empty()) f.x = d.node->input(0);
  return f;
}

/// Data files that the replaced model may have named stay: others may name them too.
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

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double seconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

class Converter {
 public:
  Converter(Clock::time_point started, Model& model, Scopes& scopes, const ConvertOptions& options)
      : started_(started),
        model_(model),
        files_(model.path, options.checksums),
        scopes_(scopes),
        options_(options),
        constants_(model, files_, scopes, options.assume_const),
        rewire_(model, scopes, options.assume_const, model.has_training) {}

  Result<ConvertReport> convert(const std::string& output) {
    const auto tick = [this] { return options_.progress ? options_.progress(0, 0) : Status(); };
    DEQUANT_CHECK(check_external_entries(model_, scopes_, files_, tick));
    report_.warnings = model_.warnings.sentences();
    if (options_.overwrite == Overwrite::replace) warn_of_left_data(output, report_.warnings);
    DEQUANT_CHECK(decide());
    // Only now is the graph touched: a decision looks at the model as it was.
    for (const Fold& f : folds_)
      rewire_.remove_node(*f.dequantization.graph, *f.dequantization.node);
    release();
    if (options_.strip_qdq) {
      const auto touch = [this](const Node& n) { return wanted(options_, n); };
      StripReport stripped;
      DEQUANT_CHECK(
          strip(model_, files_, constants_, rewire_, {options_.clips, touch}, stripped, reasons_));
      report_.stripped = std::move(stripped.stripped);
      report_.inputs_changed = std::move(stripped.inputs);
      report_.outputs_changed = std::move(stripped.outputs);
    }
    DEQUANT_CHECK(rewire_.finish());
    DEQUANT_CHECK(drop_imports(model_, rewire_));
    DEQUANT_TRY(std::string requantized, warning_of_requantized(rewire_, constants_));
    if (!requantized.empty()) report_.warnings.push_back(std::move(requantized));
    DEQUANT_CHECK(list_left());
    DEQUANT_CHECK(judge_left());

    SaveOptions save_options{options_.external_data, options_.dry_run, options_.overwrite,
                             options_.stream, options_.progress};
    Phases phases;
    save_options.stream.phases = &phases;
    report_.seconds.decide = seconds_since(started_);
    DEQUANT_TRY(const Saved saved,
                save(model_, files_, rewire_, rewire_.edit(), folds_, output, save_options));
    report_.removed_initializers = rewire_.removed_initializers();
    report_.removed_nodes = rewire_.removed_nodes();
    report_.bytes_in = model_.source.file().size();
    report_.bytes_out = saved.model_bytes;
    report_.data_file = saved.data_file;
    report_.data_bytes = saved.data_bytes;
    report_.seconds.read = seconds(phases.read);
    report_.seconds.dequantize = seconds(phases.dequantize);
    report_.seconds.write = seconds(phases.write);
    report_.seconds.flush = seconds(phases.flush);
    report_.seconds.total = seconds_since(started_);
    return std::move(report_);
  }

 private:
  Status decide() {
    for (Graph* graph : scopes_.graphs()) {
      for (Node& node : graph->nodes) {
        if (!node.is_dequantize() && !node.is_quantize()) continue;
        if (options_.progress) DEQUANT_CHECK(options_.progress(0, 0));
        DEQUANT_CHECK(decide(*graph, node));
      }
    }
    return {};
  }

  Status decide(Graph& graph, Node& node) {
    const auto stay = [&](std::string reason) -> Status {
      reasons_[&node] = std::move(reason);
      return model_.take(kLeftMemory);
    };
    if (!wanted(options_, node)) {
      return node.is_dequantize() ? stay(kNotSelected) : Status();
    }
    auto decision = constants_.consider(graph, node);
    if (!decision) {
      return in(fmt::format("{}: node {}", escaped(model_.path), escaped(node.label())),
                std::move(decision).error());
    }
    if (!decision->dequantization) {
      if (!node.is_dequantize() && decision->varies) return {};
      return stay(std::move(decision->reason));
    }
    if (node.is_quantize()) return {};  // computed for those that fold
    Fold fold{*std::move(decision->dequantization), 0};
    DEQUANT_TRY(fold.bytes, packed_bytes(fold.dequantization.plan.output,
                                         element_count(fold.dequantization.plan)));
    folds_.push_back(std::move(fold));
    return model_.take(kFoldMemory);
  }

  /// What was computed for folded nodes alone goes with them: pairs of weights, dequantized scales.
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
      report_.folded.push_back(describe(f, distinct_.add(f.dequantization)));
  }

  /// Lists the quantized nodes that stay in the order of the model.
  Status list_left() {
    const QuantizedOperators quantized(model_);
    for (const Graph* graph : scopes_.graphs()) {
      for (const Node& n : graph->nodes) {
        if (rewire_.removed(n) || rewire_.replaced(n)) continue;
        const auto known = reasons_.find(&n);
        std::string reason(known != reasons_.end() ? known->second : quantized.reason(n));
        if (reason.empty()) continue;
        if (known == reasons_.end()) {
          DEQUANT_CHECK(model_.take(kLeftMemory));
          if (n.is_quantize() && !wanted(options_, n)) reason = kNotSelected;
        }
        ++(n.is_quantize() || n.is_dequantize() ? pairs_ : operators_)[n.op_type().str()];
        report_.left.push_back({std::string(n.label()), n.op_type().str(), n.domain().str(),
                                n.output(0).str(), std::move(reason)});
      }
    }
    return {};
  }

  /// That a model stays quantized is told, or refused.
  Status judge_left() {
    if (!operators_.empty())
      report_.warnings.push_back(fmt::format("still quantized: {}", counts_text(operators_)));
    if (!options_.require_float || report_.left.empty()) return {};
    const bool would_strip = !pairs_.empty() && !options_.strip_qdq;
    OperatorCounts all = operators_;
    for (const auto& [op, count] : pairs_) all[op] += count;
    return failure(ErrorCode::unsupported,
                   "{}: still quantized, where require-float wants none: {}{}",
                   escaped(model_.path), counts_text(all),
                   would_strip ? "; strip-qdq takes pairs off activations" : "");
  }

  const Clock::time_point started_;
  Model& model_;
  ExternalFiles files_;
  Scopes& scopes_;
  const ConvertOptions& options_;
  Constants constants_;
  Rewire rewire_;
  std::deque<Fold> folds_;
  Reasons reasons_;
  OperatorCounts pairs_;      ///< of the nodes that stay, QuantizeLinear and DequantizeLinear
  OperatorCounts operators_;  ///< of the nodes that stay, all others
  DistinctBytes distinct_;
  ConvertReport report_;
};

Result<std::vector<Leftover>> clean(const std::string& output, const ConvertOptions& options) {
  if (!options.clean_temp) return std::vector<Leftover>();
  return remove_leftovers(folder_of(output), options.dry_run ? Removal::pretended : Removal::done);
}

}  // namespace

FoldedBytes folded_bytes(const ConvertReport& report) {
  FoldedBytes bytes;
  for (const Folded& f : report.folded) {
    bytes.before += f.bytes_first;
    bytes.after += f.bytes_after;
  }
  return bytes;
}

Result<ConvertReport> convert(const std::string& input, const std::string& output,
                              const ConvertOptions& options) {
  const auto started = Clock::now();
  DEQUANT_CHECK(OutputFile::check_folder(output));  // before the work
  DEQUANT_TRY(auto leftovers, clean(output, options));
  DEQUANT_TRY(const auto model, read_model(input, options.stream.structure));
  auto scopes = Scopes::build(*model);
  if (!scopes) return in(escaped(input), std::move(scopes).error());
  DEQUANT_CHECK(check_output(*model, *scopes, output));
  DEQUANT_TRY(ConvertReport report, Converter(started, *model, *scopes, options).convert(output));
  warn_of_kept(leftovers, report.warnings);
  report.cleaned = std::move(leftovers);
  return report;
}

}  // namespace dequant::format::onnx
