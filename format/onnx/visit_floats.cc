// The tensors of an ONNX model that are stored as floats.
#include "format/io/errors.h"
#include "format/onnx/evaluation/evaluation.h"
#include "format/onnx/onnx_file.h"
#include "format/onnx/original_name.h"
#include "format/onnx/readers.h"

namespace dequant::format::onnx {
namespace {

/// Values that are computed from a constant, at most, of which the readers are looked at.
constexpr size_t kMostComputed = 64;

/// The only node that reads a name, if that is a Cast to a float type; else null.
const Node* only_cast(const Scopes& scopes, const Graph& graph, std::string_view name) {
  const Definition* d = scopes.find(graph, name);
  if (d == nullptr) return nullptr;
  const Node* reader = nullptr;
  int64_t uses = 0;
  scopes.for_each_use(*d, [&](const Use& use) {
    if (use.annotation()) return;
    ++uses;
    reader = use.node;
  });
  if (uses != 1 || reader == nullptr || !reader->is("Cast") || reader->outputs.size() != 1)
    return nullptr;
  const Attribute* to = reader->attribute("to");
  const auto element = to == nullptr ? std::nullopt : element_from_onnx(to->i);
  return element && is_output(*element) ? reader : nullptr;
}

}  // namespace

Status OnnxFile::visit_floats(const TensorVisitor& visitor) {
  DEQUANT_CHECK(expand());
  for (const Graph* graph : scopes_.graphs()) {
    for (const Initializer& i : graph->initializers)
      DEQUANT_CHECK(visit_float(*graph, i.tensor.name, {&i.tensor, {}}, visitor));
    for (const Node& node : graph->nodes) {
      if (!node.is("Constant") || node.outputs.empty() || is_made(node)) continue;
      Resolved r = onnx::constant_of(node);
      if (r.constant)
        DEQUANT_CHECK(visit_float(*graph, node.outputs[0].text, *std::move(r.constant), visitor));
    }
  }
  return {};
}

Status OnnxFile::visit_rest(const std::function<Status(const RestTensor&)>& visitor) const {
  for (const Graph* graph : scopes_.graphs()) {
    for (const Initializer& i : graph->initializers)
      DEQUANT_CHECK(visit_double(*graph, i.tensor.name, &i.tensor, visitor));
    for (const Node& node : graph->nodes) {
      if (!node.is("Constant") || node.outputs.empty()) continue;
      const Resolved r = onnx::constant_of(node);
      if (!r.constant) continue;
      DEQUANT_CHECK(visit_double(*graph, node.outputs[0].text, r.constant->tensor, visitor));
    }
  }
  return {};
}

Status OnnxFile::visit_double(const Graph& graph, Text name, const Tensor* tensor,
                              const std::function<Status(const RestTensor&)>& visitor) const {
  if (tensor == nullptr || tensor->data_type != kDouble || tensor->data != DataField::raw_data ||
      tensor->external || tensor->several_data || tensor->has_segment || name.empty() ||
      only_quantizers_read(graph, name))
    return {};
  const auto count = element_count(tensor->dims);
  constexpr int64_t kOfDouble = sizeof(double);
  if (!count || tensor->raw.size() / kOfDouble != *count || tensor->raw.size() % kOfDouble != 0)
    return {};
  const InputFile& file = model_->source.file();
  return visitor({.name = name,
                  .type = "F64",
                  .shape = tensor->dims,
                  .bytes = tensor->raw.size(),
                  .dropped = {},
                  .location = {{}, tensor->raw.begin, tensor->raw.size()},
                  .bits = 8 * kOfDouble,
                  .input = &file});
}

/// True for a name of an output of its graph.
bool OnnxFile::is_graph_output(const Graph& graph, std::string_view name) const {
  bool found = false;
  if (const Definition* d = scopes_.find(graph, name)) {
    scopes_.for_each_use(
        *d, [&](const Use& use) { found = found || (use.node == nullptr && !use.annotation()); });
  }
  return found;
}

/// True where a node computes a constant of constants.
bool OnnxFile::is_evaluated(const Reader& r) const {
  if (evaluated_operator(r.node) == nullptr || r.node.outputs.size() != 1) return false;
  const auto output = constants_.resolve(r.graph, r.node.output(0));
  return output && output->constant.has_value();
}

/// True for inputs of quantized nodes: scales, float zero points, x of a QuantizeLinear, and what
/// these are computed from. These are no float tensors of the model.
bool OnnxFile::only_quantizers_read(const Graph& graph, std::string_view name) const {
  bool read = false;
  bool by_others = false;
  std::vector<std::pair<const Graph*, std::string_view>> todo{{&graph, name}};
  for (size_t i = 0; i < todo.size() && !by_others; ++i) {
    bool is_read = false;
    Readers(scopes_, *todo[i].first, todo[i].second).for_each([&](const Reader& r) {
      is_read = true;
      const bool replaced = expanded_ && expanded_->removed(r.node);
      if (replaced || r.node.is_quantize() || r.node.is_dequantize() ||
          is_of_weight(r.node, r.input) || is_parameter(r.node, r.input)) {
        read = true;
      } else if (todo.size() < kMostComputed && is_evaluated(r)) {
        todo.emplace_back(&r.graph, r.node.output(0));
      } else {
        by_others = true;
      }
    });
    by_others = by_others || !is_read || is_graph_output(*todo[i].first, todo[i].second);
  }
  return read && !by_others;
}

Status OnnxFile::visit_float(const Graph& graph, Text name, Constant constant,
                             const TensorVisitor& visitor) const {
  const Tensor* stored = constant.tensor;
  const bool is_double = stored != nullptr && stored->data_type == kDouble;
  const bool is_float = stored == nullptr || (stored->element() && is_output(*stored->element()));
  if ((!is_float && !is_double) || name.empty() || only_quantizers_read(graph, name)) return {};
  TensorFacts facts;
  facts.name = name;
  facts.graph = name_of(graph);
  facts.original = original_name(name);
  if (const Node* cast = only_cast(scopes_, graph, name); cast != nullptr) {
    facts.name = cast->output(0);  // the name that other nodes read
    facts.source = name;
    facts.node = cast->name;
    if (facts.original.empty()) facts.original = original_name(facts.name);
  }
  if (is_double) {
    LeftTensor left;
    static_cast<TensorFacts&>(left) = facts;
    left.reason = "float64 is not one dequant reads";
    return visitor.left(left);
  }
  DenseTensor tensor = copied_tensor(std::make_shared<const Constant>(std::move(constant)));
  static_cast<TensorFacts&>(tensor) = facts;
  return visitor.dense(tensor);
}

}  // namespace dequant::format::onnx
