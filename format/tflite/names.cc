// Names of constants.
#include "format/tflite/names.h"

#include <fmt/format.h>

#include "format/io/utf8.h"

namespace dequant::format::tflite {
namespace {

/// The key of the metadata of safetensors files, which no tensor may have as its name.
constexpr std::string_view kReserved = "__metadata__";

/// True for two indices that stand for the same data.
bool same(const Subgraph& a, int32_t of_a, const Subgraph& b, int32_t of_b) {
  const auto has = [](const Subgraph& graph, int32_t index) {
    return index >= 0 && index < static_cast<int64_t>(graph.tensors.size());
  };
  if (!has(a, of_a) || !has(b, of_b)) return of_a == of_b;
  const Tensor& tensor = a.tensors[static_cast<size_t>(of_a)];
  const Tensor& other = b.tensors[static_cast<size_t>(of_b)];
  return tensor.buffer == other.buffer && tensor.type == other.type;
}

bool same(const Subgraph& graph_a, const Quantization& a, const Subgraph& graph_b,
          const Quantization& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.dimension == b.dimension &&
         a.details == b.details && a.blockwise.block_size == b.blockwise.block_size &&
         same(graph_a, a.blockwise.scales, graph_b, b.blockwise.scales) &&
         same(graph_a, a.blockwise.zero_points, graph_b, b.blockwise.zero_points);
}

}  // namespace

const Tensor* Names::known(const Subgraph& graph, const Tensor& tensor) const {
  const auto found = first_.find(tensor.name);
  if (found == first_.end()) return nullptr;
  const Tensor& first = *found->second.tensor;
  const bool is_same =
      tensor.buffer == first.buffer && tensor.external_buffer == first.external_buffer &&
      tensor.type == first.type && tensor.sparse == first.sparse && tensor.shape == first.shape &&
      same(graph, tensor.quantization, *found->second.graph, first.quantization);
  return is_same ? &first : nullptr;
}

std::string Names::add(const Subgraph& graph, const Tensor& tensor, const std::string& place) {
  const bool is_new = first_.try_emplace(tensor.name, Place{&graph, &tensor}).second;
  std::string name = as_utf8(tensor.name);
  if (name.empty() || name != tensor.name || name == kReserved || !is_new ||
      given_.contains(name)) {
    name += fmt::format("@{}", place);
    while (given_.contains(name)) name += '@';
  }
  given_.insert(name);
  return name;
}

}  // namespace dequant::format::tflite
