// Names of constants.
#include "format/tflite/names.h"

#include <fmt/format.h>

#include "format/io/utf8.h"

namespace dequant::format::tflite {
namespace {

/// The key of the metadata of safetensors files, which no tensor may have as its name.
constexpr std::string_view kReserved = "__metadata__";

/// True for two indices that stand for the same data.
bool same_data(const Subgraph& a, int32_t of_a, const Subgraph& b, int32_t of_b) {
  const auto has = [](const Subgraph& graph, int32_t index) {
    return index >= 0 && index < static_cast<int64_t>(graph.tensors.size());
  };
  if (!has(a, of_a) || !has(b, of_b)) return of_a == of_b;
  const Tensor& tensor = a.tensors[static_cast<size_t>(of_a)];
  const Tensor& other = b.tensors[static_cast<size_t>(of_b)];
  return tensor.buffer == other.buffer && tensor.type == other.type;
}

}  // namespace

size_t Interned::number_of(std::string_view bytes) {
  const auto [found, is_new] = ranges_.try_emplace({bytes.data(), bytes.size()});
  if (is_new) found->second = contents_.try_emplace(bytes, contents_.size()).first->second;
  return found->second;
}

bool Names::same(const Place& a, const Place& b) {
  const Tensor& s = *a.tensor;
  const Tensor& t = *b.tensor;
  const Quantization& p = s.quantization;
  const Quantization& q = t.quantization;
  const auto equal = [&](const auto& numbers, const auto& others) {
    return bytes_.number_of(numbers.bytes()) == bytes_.number_of(others.bytes());
  };
  return s.buffer == t.buffer && s.external_buffer == t.external_buffer && s.type == t.type &&
         s.sparse == t.sparse && p.dimension == q.dimension && p.details == q.details &&
         p.blockwise.block_size == q.blockwise.block_size && equal(s.shape, t.shape) &&
         equal(p.scale, q.scale) && equal(p.zero_point, q.zero_point) &&
         same_data(*a.graph, p.blockwise.scales, *b.graph, q.blockwise.scales) &&
         same_data(*a.graph, p.blockwise.zero_points, *b.graph, q.blockwise.zero_points);
}

const Tensor* Names::known(const Subgraph& graph, const Tensor& tensor) {
  const auto found = first_.find(bytes_.number_of(tensor.name));
  if (found == first_.end() || !same({&graph, &tensor}, found->second)) return nullptr;
  return found->second.tensor;
}

std::string Names::add(const Subgraph& graph, const Tensor& tensor, const std::string& place) {
  const size_t number = bytes_.number_of(tensor.name);
  const bool is_new = first_.try_emplace(number, Place{&graph, &tensor}).second;
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
