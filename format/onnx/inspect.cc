// What the quantized tensors of a model hold.
#include "format/onnx/inspect.h"

#include <cmath>
#include <cstring>
#include <unordered_set>

#include "format/io/errors.h"
#include "format/io/numbers.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {
namespace {

/// Elements looked at in one go; a multiple of 8.
constexpr int64_t kStep = int64_t{1} << 18;

class Inspector {
 public:
  Inspector(Model& model, const Scopes& scopes, const StreamOptions& options)
      : model_(model), files_(model.path), scopes_(scopes), options_(options) {}

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
    info.graph = &graph == &model_.graph ? "" : graph.name;
    info.output = node.outputs.empty() ? "" : node.outputs[0].text;
    info.x = node.input(0);
    DEQUANT_TRY(Decision decision, consider(model_, files_, scopes_, graph, node, true));
    info.reason = decision.reason;
    if (decision.dequantization) DEQUANT_CHECK(measure(*decision.dequantization, info));
    report_.nodes.push_back(std::move(info));
    return {};
  }

  Status measure(const Dequantization& d, DequantizeInfo& info) {
    known_.insert(d.x.tensor);
    info.plan = d.plan;
    info.axis = d.axis;
    info.shape = d.x.tensor->dims;
    DEQUANT_TRY(const int64_t x_bytes, packed_bytes(d.plan.input, element_count(d.plan)));
    DEQUANT_TRY(info.float_bytes, packed_bytes(d.plan.output, element_count(d.plan)));
    info.bytes = x_bytes;
    DEQUANT_CHECK(extent(d.scale, info.scale, info.bytes));
    if (d.zero_point) DEQUANT_CHECK(extent(*d.zero_point, info.zero_point, info.bytes));
    return stream(model_, files_, d, options_, [&](std::span<const std::byte> bytes) -> Status {
      for_each_number(d.plan.output, bytes, [&](double v) { info.value.add(v); });
      return {};
    });
  }

  Status extent(const Constant& constant, Extent& extent, int64_t& bytes) {
    const auto add = [&](double v) { extent.add(v); };
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
  const StreamOptions& options_;
  InspectReport report_;
  std::unordered_set<const Tensor*> known_;
};

}  // namespace

void Extent::add(double value) {
  if (std::isnan(value)) {
    ++nans;
    return;
  }
  if (numbers == 0 || value < least) least = value;
  if (numbers == 0 || value > greatest) greatest = value;
  ++numbers;
}

Result<InspectReport> inspect(const std::string& path, const StreamOptions& options) {
  DEQUANT_TRY(const auto model, read_model(path));
  auto scopes = Scopes::build(*model);
  if (!scopes) return in(escaped(path), std::move(scopes).error());
  auto report = Inspector(*model, *scopes, options).run();
  if (!report) return in(escaped(path), std::move(report).error());
  return report;
}

}  // namespace dequant::format::onnx
