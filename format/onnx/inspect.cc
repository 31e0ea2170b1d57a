// What the quantized tensors of a model hold.
#include "format/onnx/inspect.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

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
/// Results are remembered for other nodes that take the same: those of so many elements and more, which
/// take longer to find than to remember, and of so many nodes, each in about 1 KiB, with histograms 5 KiB.
constexpr int64_t kLeastRemembered = 4096;
constexpr size_t kMostRemembered = size_t{1} << 13;
constexpr size_t kMostProfilesRemembered = size_t{1} << 10;

/// What is found in the data that a node takes.
struct Measured {
  ScaleProfile scale;
  Extent zero_point;
  Profile profile;
};

/// What has been found, for nodes that take the same in the same way.
class Remembered {
 public:
  const Measured* find(const Dequantization& d) const {
    const auto [begin, end] = found_.equal_range(inputs_of(d));
    for (auto at = begin; at != end; ++at) {
      if (at->second.plan == d.plan) return &at->second.measured;
    }
    return nullptr;
  }

  void add(const Dequantization& d, const Measured& measured, size_t most) {
    if (found_.size() < most) found_.emplace(inputs_of(d), Entry{d.plan, measured});
  }

 private:
  using Inputs = std::tuple<const void*, const void*, const void*>;
  struct Entry {
    Plan plan;
    Measured measured;
  };

  static Inputs inputs_of(const Dequantization& d) {
    return {d.x.identity(), d.scale.identity(), d.zero_point ? d.zero_point->identity() : nullptr};
  }

  std::multimap<Inputs, Entry> found_;
};

class Inspector {
 public:
  Inspector(Model& model, const Scopes& scopes, const InspectOptions& options, InspectSink& sink)
      : model_(model),
        files_(model.path, options.checksums),
        scopes_(scopes),
        options_(options),
        sink_(sink),
        scatter_(model, files_, options.stream),
        constants_(model, files_, scopes, true),
        parameters_(model, files_, scopes, constants_) {}

  Result<InspectTotals> run() {
    DEQUANT_CHECK(for_each_dequantize([&](Graph& g, Node& n) { return check(g, n); }));
    know_zero_points_of_quantizers();
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    DEQUANT_CHECK(
        for_each_other([&](const Graph&, std::string_view, const Tensor& tensor) -> Status {
          DEQUANT_TRY(const auto reader, TensorReader::open(model_.source, files_, tensor));
          return {};
        }));

    DEQUANT_CHECK(sink_.begin({model_.ir_version, model_.opsets}));
    DEQUANT_CHECK(for_each_dequantize([&](Graph& g, Node& n) { return tell(g, n); }));
    DEQUANT_CHECK(
        for_each_other([&](const Graph& graph, std::string_view name, const Tensor& tensor) {
          return tell_other(graph, name, tensor);
        }));
    return totals_;
  }

 private:
  /// Calls visit(Graph&, Node&) for each DequantizeLinear; its errors get the name of the node.
  template <class Visit>
  Status for_each_dequantize(Visit visit) {
    for (Graph* graph : scopes_.graphs()) {
      for (Node& node : graph->nodes) {
        if (!node.is_dequantize()) continue;
        if (Status status = visit(*graph, node); !status)
          return in(fmt::format("node {}", escaped(node.label())), std::move(status).error());
      }
    }
    return {};
  }

  /// That a node can be told, and how much there is to do.
  Status check(Graph& graph, Node& node) {
    for (const size_t input : {size_t{0}, size_t{2}}) {
      if (const Tensor* tensor = tensor_of(graph, node.input(input))) known_.push_back(tensor);
    }
    DEQUANT_TRY(const Decision decision, constants_.consider(graph, node));
    if (!decision.dequantization) return {};
    const Plan& plan = decision.dequantization->plan;
    DEQUANT_TRY(const int64_t bytes, packed_bytes(plan.output, element_count(plan)));
    total_ += bytes;
    return {};
  }

  void know_zero_points_of_quantizers() {
    for (const Graph* graph : scopes_.graphs()) {
      for (const Node& node : graph->nodes) {
        if (!node.is_quantize()) continue;
        if (const Tensor* zero = tensor_of(*graph, node.input(2))) known_.push_back(zero);
      }
    }
  }

  /// The tensor that a name leads to; null where it is no constant, or one within an attribute.
  const Tensor* tensor_of(const Graph& graph, std::string_view name) const {
    if (name.empty()) return nullptr;
    const Resolved r = resolve_constant(scopes_, graph, name, true);
    return r.constant ? r.constant->tensor : nullptr;
  }

  std::string graph_name(const Graph& graph) const {
    return &graph == &model_.graph ? std::string() : graph.name.str();
  }

  Status tell(Graph& graph, Node& node) {
    DequantizeInfo info;
    info.node = node.name;
    info.domain = node.domain();
    info.opset = node.domain() == "com.microsoft" ? graph.opsets.microsoft : graph.opsets.onnx;
    info.graph = graph_name(graph);
    info.output = node.output(0);
    info.x = node.input(0);
    DEQUANT_TRY(Decision decision, constants_.consider(graph, node));
    info.reason = std::move(decision.reason);
    if (decision.dequantization) {
      DEQUANT_CHECK(describe(*decision.dequantization, info));
      DEQUANT_CHECK(measure_once(*decision.dequantization, info));
    } else if (!resolve_constant(scopes_, graph, node.input(0), true).constant) {
      DEQUANT_CHECK(add_parameters(graph, node, info));
    }
    ++totals_.nodes;
    return sink_.node(info);
  }

  /// A scale that is broken is no reason to tell nothing of the model: folding does not need it.
  Status add_parameters(const Graph& graph, const Node& node, DequantizeInfo& info) {
    auto parameters = parameters_.find(graph, node);
    if (parameters) {
      info.parameters = *std::move(parameters);
      return {};
    }
    if (parameters.error().code == ErrorCode::out_of_memory) return std::move(parameters).error();
    info.reason += "; its scale and zero point cannot be read: " + parameters.error().message;
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
    ++totals_.constant;
    totals_.elements += element_count(d.plan);
    totals_.bytes += info.bytes_first;
    totals_.float_bytes += info.float_bytes;
    return {};
  }

  /// Nodes that take the same in the same way share what was found.
  Status measure_once(const Dequantization& d, DequantizeInfo& info) {
    if (const Measured* same = remembered_.find(d)) {
      info.scale = same->scale;
      info.zero_point = same->zero_point;
      info.profile = same->profile;
      advance(info.float_bytes);
      return {};
    }
    const bool all = measured_++ < options_.profiles;
    DEQUANT_CHECK(measure(d, all, info));
    if (element_count(d.plan) >= kLeastRemembered && may_come_again(*d.graph, *d.node)) {
      remembered_.add(d, {info.scale, info.zero_point, info.profile},
                      all ? kMostProfilesRemembered : kMostRemembered);
    }
    return {};
  }

  /// False where some input is read by this node only.
  bool may_come_again(const Graph& graph, const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Name& input) {
      const Definition* d = scopes_.find(graph, input.text);
      return d == nullptr || d->live > 1 || d->is_identity();
    });
  }

  Status measure(const Dequantization& d, bool all, DequantizeInfo& info) {
    DEQUANT_CHECK(read(d.scale, [&](double scale) { info.scale.add(scale, all); }));
    for_each_listed(info, [&](Group& g) { g.zero_point = d.plan.implicit_zero_point; });
    if (d.zero_point) DEQUANT_CHECK(read_zero_points(*d.zero_point, info));
    Profiler profiler(d.plan, all);
    DEQUANT_CHECK(scatter_.visit(d, [&](const Stretch& stretch) -> Status {
      profiler.add(stretch);
      advance(static_cast<int64_t>(stretch.output.size()));
      return {};
    }));
    info.profile = profiler.finish();
    if (info.profile.has_groups) {
      for_each_listed(info, [&](Group& g) { g.largest = profiler.largest(g.index); });
    }
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

  /// Calls visit(const Graph&, std::string_view name, const Tensor&) for each constant of a quantized
  /// type that is not known by a DequantizeLinear or QuantizeLinear.
  template <class Visit>
  Status for_each_other(Visit visit) {
    const auto is_other = [&](const Tensor& tensor) {
      const auto element = tensor.element();
      return element && is_input(*element) && bits(*element) <= 16 &&
             !std::binary_search(known_.begin(), known_.end(), &tensor);
    };
    for (const Graph* graph : scopes_.graphs()) {
      for (const Initializer& i : graph->initializers) {
        if (is_other(i.tensor)) DEQUANT_CHECK(visit(*graph, i.tensor.name, i.tensor));
      }
      for (const Node& node : graph->nodes) {
        if (!node.is("Constant") || node.outputs.empty()) continue;
        const Resolved r = constant_of(node);
        if (!r.constant || r.constant->tensor == nullptr || !is_other(*r.constant->tensor))
          continue;
        DEQUANT_CHECK(visit(*graph, node.outputs[0].text, *r.constant->tensor));
      }
    }
    return {};
  }

  Status tell_other(const Graph& graph, std::string_view name, const Tensor& tensor) {
    OtherConstant other{std::string(name), graph_name(graph), *tensor.element(), {}, 0};
    other.shape.assign(tensor.dims.begin(), tensor.dims.end());
    DEQUANT_TRY(const auto reader, TensorReader::open(model_.source, files_, tensor));
    other.bytes = reader.bytes();
    return sink_.other(other, {scopes_, graph, name});
  }

  Model& model_;
  ExternalFiles files_;
  const Scopes& scopes_;
  const InspectOptions& options_;
  InspectSink& sink_;
  Scatter scatter_;
  Constants constants_;
  ParameterFinder parameters_;
  std::vector<const Tensor*> known_;  ///< x and zero points; sorted once all are there
  DistinctBytes distinct_;
  InspectTotals totals_;
  Remembered remembered_;
  size_t measured_ = 0;
  std::mutex turn_;  ///< guards done_
  int64_t done_ = 0;
  int64_t total_ = 0;
};

}  // namespace

Result<InspectTotals> inspect(const std::string& path, const InspectOptions& options,
                              InspectSink& sink) {
  DEQUANT_TRY(const auto model, read_model(path, options.stream.structure));
  auto scopes = Scopes::build(*model);
  if (!scopes) return in(escaped(path), std::move(scopes).error());
  if (!options.output.empty()) DEQUANT_CHECK(check_output(*model, *scopes, options.output));
  auto totals = Inspector(*model, *scopes, options, sink).run();
  if (!totals) return in(escaped(path), std::move(totals).error());
  return totals;
}

}  // namespace dequant::format::onnx
