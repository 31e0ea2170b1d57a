// What the quantized tensors of a model hold.
#include "format/onnx/inspect.h"

#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "format/io/errors.h"
#include "format/io/numbers.h"
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
        files_(model.path),
        scopes_(scopes),
        options_(options),
        scatter_(model, files_, options.stream) {}

  Result<InspectReport> run() {
    report_.ir_version = model_.ir_version;
    report_.opsets = model_.opsets;
    for (Graph* graph : scopes_.graphs()) {
      for (Node& node : graph->nodes) {
        if (node.is_quantize() || node.is_dequantize()) note_zero_point(*graph, node);
        if (!node.is_dequantize()) continue;
        if (auto status = add(*graph, node); !status) {
          return in(fmt::format("node {}", escaped(node.label())), std::move(status).error());
        }
      }
    }
    for (const auto& [d, index] : constant_) {
      if (auto status = measure(d, report_.nodes[index]); !status) {
        return in(fmt::format("node {}", escaped(d.node->label())), std::move(status).error());
      }
    }
    add_others();
    return std::move(report_);
  }

 private:
  void note_zero_point(const Graph& graph, const Node& node) {
    if (node.input(2).empty()) return;
    const Resolved zero = resolve_constant(scopes_, graph, node.input(2), true);
    if (zero.constant) known_.insert(zero.constant->tensor);
  }

  Status add(Graph& graph, Node& node) {
    DequantizeInfo info;
    info.node = node.name;
    info.domain = node.domain;
    info.opset = node.domain == "com.microsoft" ? graph.opsets.microsoft : graph.opsets.onnx;
    info.graph = &graph == &model_.graph ? "" : graph.name;
    info.output = node.outputs.empty() ? "" : node.outputs[0].text;
    info.x = node.input(0);
    DEQUANT_TRY(Decision decision, consider(model_, files_, scopes_, graph, node, true));
    info.reason = decision.reason;
    if (decision.dequantization) {
      DEQUANT_CHECK(describe(*decision.dequantization, info));
      constant_.emplace_back(*std::move(decision.dequantization), report_.nodes.size());
    }
    report_.nodes.push_back(std::move(info));
    return {};
  }

  /// What needs no data.
  Status describe(const Dequantization& d, DequantizeInfo& info) {
    known_.insert(d.x.tensor);
    info.plan = d.plan;
    info.axis = d.axis;
    info.shape = d.x.tensor->dims;
    const TensorType scale = d.scale.type();
    info.scale_shape.assign(scale.shape.begin(), scale.shape.end());
    DEQUANT_TRY(info.bytes, packed_bytes(d.plan.input, element_count(d.plan)));
    DEQUANT_TRY(info.float_bytes, packed_bytes(d.plan.output, element_count(d.plan)));
    total_ += info.float_bytes;
    return {};
  }

  Status measure(const Dequantization& d, DequantizeInfo& info) {
    DEQUANT_CHECK(read(d.scale, info.bytes, [&](double scale) {
      info.scale.add(scale, measured_ < options_.profiles);
    }));
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
    DEQUANT_CHECK(read(zero_point, info.bytes, [&](double value) {
      info.zero_point.add(value);
      const auto found = listed.find(index++);
      if (found != listed.end()) found->second = value;
    }));
    for_each_listed(info, [&](Group& g) { g.zero_point = listed[g.index]; });
    return {};
  }

  /// Hands all numbers of a constant to `add` and its bytes to the sum.
  template <class Add>
  Status read(const Constant& constant, int64_t& bytes, Add add) {
    if (constant.literal) {
      bytes += static_cast<int64_t>(constant.literal->bytes.size());
      for_each_number(Element::float32, constant.literal->bytes, add);
      return {};
    }
    DEQUANT_TRY(TensorReader reader, TensorReader::open(model_.source, files_, *constant.tensor));
    bytes += reader.bytes();
    std::vector<std::byte> part;
    for (int64_t done = 0; done < reader.count(); done += kStep) {
      const int64_t count = std::min(kStep, reader.count() - done);
      DEQUANT_TRY(const int64_t size, packed_bytes(reader.element(), count));
      part.resize(static_cast<size_t>(size));
      DEQUANT_CHECK(reader.read(part));
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

  void add_others() {
    for (const Graph* graph : scopes_.graphs()) {
      for (const Initializer& i : graph->initializers) {
        const auto element = i.tensor.element();
        if (!element || !is_input(*element) || bits(*element) > 16 || known_.contains(&i.tensor))
          continue;
        const auto count = element_count(i.tensor.dims);
        const auto bytes = packed_bytes(*element, count ? *count : 0);
        if (bytes) report_.others.push_back({i.tensor.name, *element, i.tensor.dims, *bytes});
      }
    }
  }

  Model& model_;
  ExternalFiles files_;
  const Scopes& scopes_;
  const InspectOptions& options_;
  Scatter scatter_;
  std::vector<std::pair<Dequantization, size_t>> constant_;  ///< with the indices of their nodes
  size_t measured_ = 0;                                      ///< of constant_
  std::mutex turn_;                                          ///< guards done_
  int64_t done_ = 0;
  int64_t total_ = 0;
  InspectReport report_;
  std::unordered_set<const Tensor*> known_;
};

}  // namespace

Result<InspectReport> inspect(const std::string& path, const InspectOptions& options) {
  DEQUANT_TRY(const auto model, read_model(path));
  auto scopes = Scopes::build(*model);
  if (!scopes) return in(escaped(path), std::move(scopes).error());
  if (!options.output.empty()) DEQUANT_CHECK(check_output(*model, *scopes, options.output));
  auto report = Inspector(*model, *scopes, options).run();
  if (!report) return in(escaped(path), std::move(report).error());
  return report;
}

}  // namespace dequant::format::onnx
