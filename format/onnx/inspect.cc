// What the quantized tensors of a model hold.
#include "format/onnx/inspect.h"

#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "format/io/errors.h"
#include "format/io/numbers.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/constants.h"
#include "format/onnx/inputs.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

/// Elements looked at in one go; a multiple of 8.
constexpr int64_t kStep = int64_t{1} << 18;

class Inspector {
 public:
  Inspector(Model& model, const Scopes& scopes, const InspectOptions& options)
      : model_(model),
        files_(model.path, options.checksums),
        scopes_(scopes),
        options_(options),
        scatter_(model, files_, options.stream),
        constants_(model, files_, scopes, true),
        parameters_(model, files_, scopes, constants_) {}

  Result<InspectReport> run() {
    report_.ir_version = model_.ir_version;
    report_.opsets = model_.opsets;
    for (Graph* graph : scopes_.graphs()) {
      for (Node& node : graph->nodes) {
        if (node.is_quantize() || node.is_dequantize()) note(*graph, node.input(2));
        if (!node.is_dequantize()) continue;
        const bool x_is_constant = note(*graph, node.input(0));
        if (auto status = add(*graph, node, x_is_constant); !status) {
          return in(fmt::format("node {}", escaped(node.label())), std::move(status).error());
        }
      }
    }
    for (const auto& [d, index] : constant_) {
      if (auto status = measure_once(d, index); !status) {
        return in(fmt::format("node {}", escaped(d.node->label())), std::move(status).error());
      }
    }
    DEQUANT_CHECK(add_others());
    return std::move(report_);
  }

 private:
  /// A constant with this name is none of the others.
  bool note(const Graph& graph, std::string_view name) {
    if (name.empty()) return false;
    const Resolved r = resolve_constant(scopes_, graph, name, true);
    if (r.constant) known_.insert(r.constant->tensor);
    return r.constant.has_value();
  }

  std::string graph_name(const Graph& graph) const {
    return &graph == &model_.graph ? std::string() : graph.name.str();
  }

  Status add(Graph& graph, Node& node, bool x_is_constant) {
    DequantizeInfo info;
    info.node = node.name;
    info.domain = node.domain();
    info.opset = node.domain() == "com.microsoft" ? graph.opsets.microsoft : graph.opsets.onnx;
    info.graph = graph_name(graph);
    info.output = node.output(0);
    info.x = node.input(0);
    DEQUANT_TRY(Decision decision, constants_.consider(graph, node));
    info.reason = decision.reason;
    if (!decision.dequantization && !x_is_constant) {
      DEQUANT_TRY(info.parameters, parameters_.find(graph, node));
    }
    if (decision.dequantization) {
      DEQUANT_CHECK(describe(*decision.dequantization, info));
      constant_.emplace_back(*std::move(decision.dequantization), report_.nodes.size());
    }
    report_.nodes.push_back(std::move(info));
    return {};
  }

  /// What needs no data.
  Status describe(const Dequantization& d, DequantizeInfo& info) {
    info.plan = d.plan;
    info.axis = d.axis;
    const TensorType x = d.x.type();
    info.shape.assign(x.shape.begin(), x.shape.end());
    const TensorType scale = d.scale.type();
    info.scale_shape.assign(scale.shape.begin(), scale.shape.end());
    info.bytes = stored_bytes(d);
    info.bytes_first = distinct_.add(d);
    DEQUANT_TRY(info.float_bytes, packed_bytes(d.plan.output, element_count(d.plan)));
    total_ += info.float_bytes;
    return {};
  }

  /// Nodes that take the same in the same way share what was found.
  Status measure_once(const Dequantization& d, size_t index) {
    DequantizeInfo& info = report_.nodes[index];
    const void* zero_point = d.zero_point ? d.zero_point->identity() : nullptr;
    std::vector<size_t>& alike = found_[{d.x.identity(), d.scale.identity(), zero_point}];
    for (const size_t k : alike) {
      const DequantizeInfo& same = report_.nodes[k];
      if (same.plan != d.plan) continue;
      info.scale = same.scale;
      info.zero_point = same.zero_point;
      info.profile = same.profile;
      advance(info.float_bytes);
      return {};
    }
    alike.push_back(index);
    return measure(d, info);
  }

  Status measure(const Dequantization& d, DequantizeInfo& info) {
    DEQUANT_CHECK(
        read(d.scale, [&](double scale) { info.scale.add(scale, measured_ < options_.profiles); }));
    for_each_listed(info, [&](Group& g) { g.zero_point = d.plan.implicit_zero_point; });
    if (d.zero_point) DEQUANT_CHECK(read_zero_points(*d.zero_point, info));
    Profiler profiler(d.plan, measured_ < options_.profiles);
    DEQUANT_CHECK(scatter_.visit(d, [&](const Stretch& stretch) -> Status {
      profiler.add(stretch);
      advance(static_cast<int64_t>(stretch.output.size()));
      return {};
    }));
    info.profile = profiler.finish();
    if (info.profile.has_groups) {
      for_each_listed(info, [&](Group& g) { g.largest = profiler.largest(g.index); });
    }
    ++measured_;
    return {};
  }

  /// The scales that are told one by one.
  static void for_each_listed(DequantizeInfo& info, const std::function<void(Group&)>& visit) {
    for (Group& g : info.scale.least) visit(g);
    for (Group& g : info.scale.greatest) visit(g);
  }

  /// Zero points have the indices of the scales.
  Status read_zero_points(const Constant& zero_point, DequantizeInfo& info) {
    std::unordered_map<int64_t, double> listed;
    for_each_listed(info, [&](Group& g) { listed[g.index] = 0; });
    int64_t index = 0;
    DEQUANT_CHECK(read(zero_point, [&](double value) {
      info.zero_point.add(value);
      const auto found = listed.find(index++);
      if (found != listed.end()) found->second = value;
    }));
    for_each_listed(info, [&](Group& g) { g.zero_point = listed[g.index]; });
    return {};
  }

  /// Hands all numbers of a constant to `add`.
  template <class Add>
  Status read(const Constant& constant, Add add) {
    DEQUANT_TRY(ConstantReader reader,
                ConstantReader::open(model_, files_, constant, options_.stream.memory));
    while (reader.left() > 0) {
      const int64_t count = std::min(kStep, reader.left());
      DEQUANT_TRY(const auto part, reader.next(count));
      for_each_number(reader.element(), part, add, count);
    }
    return reader.finish();
  }

  void advance(int64_t bytes) {
    if (!options_.progress) return;
    const std::lock_guard lock(turn_);
    done_ += bytes;
    options_.progress(done_, total_);
  }

  Status add_others() {
    for (const Graph* graph : scopes_.graphs()) {
      for (const Initializer& i : graph->initializers) {
        DEQUANT_CHECK(add_other(*graph, i.tensor.name, i.tensor));
      }
      for (const Node& node : graph->nodes) {
        if (!node.is("Constant") || node.outputs.empty()) continue;
        const Resolved r = constant_of(node);
        if (!r.constant || r.constant->tensor == nullptr) continue;
        DEQUANT_CHECK(add_other(*graph, node.outputs[0].text, *r.constant->tensor));
      }
    }
    return {};
  }

  Status add_other(const Graph& graph, Text name, const Tensor& tensor) {
    const auto element = tensor.element();
    if (!element || !is_input(*element) || bits(*element) > 16 || known_.contains(&tensor)) {
      return {};
    }
    DEQUANT_TRY(const auto reader, TensorReader::open(model_.source, files_, tensor));
    report_.others.push_back(
        {name.str(), graph_name(graph), *element, tensor.dims, reader.bytes()});
    return {};
  }

  Model& model_;
  ExternalFiles files_;
  const Scopes& scopes_;
  const InspectOptions& options_;
  Scatter scatter_;
  Constants constants_;
  ParameterFinder parameters_;
  std::vector<std::pair<Dequantization, size_t>> constant_;  ///< with the indices of their nodes
  size_t measured_ = 0;                                      ///< of constant_
  std::mutex turn_;                                          ///< guards done_
  int64_t done_ = 0;
  int64_t total_ = 0;
  InspectReport report_;
  std::unordered_set<const Tensor*> known_;
  DistinctBytes distinct_;
  using Inputs = std::tuple<const void*, const void*, const void*>;
  std::map<Inputs, std::vector<size_t>> found_;  ///< nodes that were measured, by what they take
};

}  // namespace

Result<InspectReport> inspect(const std::string& path, const InspectOptions& options) {
  DEQUANT_TRY(const auto model, read_model(path, options.stream.structure));
  auto scopes = Scopes::build(*model);
  if (!scopes) return in(escaped(path), std::move(scopes).error());
  if (!options.output.empty()) DEQUANT_CHECK(check_output(*model, *scopes, options.output));
  auto report = Inspector(*model, *scopes, options).run();
  if (!report) return in(escaped(path), std::move(report).error());
  return report;
}

}  // namespace dequant::format::onnx
