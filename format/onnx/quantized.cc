// Operators with quantized inputs or outputs, which keep a model quantized.
#include "format/onnx/quantized.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "format/io/errors.h"
#include "format/onnx/dequantization.h"
#include "format/onnx/moving.h"
#include "format/onnx/operators/arithmetic.h"
#include "format/onnx/operators/dynamic.h"
#include "format/onnx/operators/weights.h"

namespace dequant::format::onnx {
namespace {

/// Operators that counts_text() lists at most.
constexpr size_t kMostNamed = 20;

/// Nodes that cast_of_codes() follows at most; producers of models have two or three.
constexpr int kMostMoves = 16;

/// Quantized operators of ONNX and ONNX Runtime whose names do not follow the rule of
/// says_quantized().
constexpr std::array<std::string_view, 2> kOnnx{"ConvInteger", "MatMulInteger"};
constexpr std::array<std::string_view, 15> kMicrosoftOperators{
    "GatherPacked",
    "GemmFloat8",
    "MatMulBnb4",
    "MatMulFpQ4",
    "MatMulInteger16",
    "MatMulIntegerToFloat",
    "MatMulPacked",
    "MoEPacked",
    "MulInteger",
    "NhwcMaxPool",  // for uint8 and int8 only
    "QAttention",
    "QEmbedLayerNormalization",
    "QGemm",
    "QMoE",
    "ReduceSumInteger",
};

/// Parts of names that only quantized operators have: MatMulNBits, TensorRT's TRT_FP4QDQ, FixNeuron
/// of Vitis AI and Quark, and MultiThreshold of QONNX, whose results are codes.
constexpr std::array<std::string_view, 4> kParts{"NBits", "QDQ", "FixNeuron", "MultiThreshold"};
/// QONNX's Trunc takes bits off codes; elsewhere the name says nothing of codes.
constexpr std::string_view kQonnx = "qonnx.";
constexpr std::string_view kQonnxTrunc = "Trunc";

/// Operators whose cache of keys and values is quantized where they have these inputs, the scales
/// of the cache.
struct CacheScales {
  std::string_view op;
  size_t key;
  size_t value;
};
constexpr std::array<CacheScales, 4> kCaches{
    CacheScales{"DynamicSparseAttention", 18, 19}, CacheScales{"GroupQueryAttention", 12, 13},
    CacheScales{"PagedAttention", 14, 15}, CacheScales{"SparsePagedAttention", 19, 20}};

template <size_t kSize>
bool is_in(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// True for names that all domains use for quantized operators. Runtimes add such operators in
/// every version.
bool says_quantized(const Node& node) {
  const std::string_view name = node.op_type();
  if (name == kQonnxTrunc && node.domain().starts_with(kQonnx)) return true;
  if (name.starts_with("QLinear") || name.starts_with("QOrdered")) return true;
  for (const std::string_view part : kParts) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  constexpr std::string_view kWord = "quant";
  const auto same = [](unsigned char a, char b) { return std::tolower(a) == b; };
  for (auto at = name.begin();; ++at) {
    at = std::search(at, name.end(), kWord.begin(), kWord.end(), same);
    if (at == name.end()) return false;
    const std::string_view rest =
        name.substr(static_cast<size_t>(at - name.begin()) + kWord.size());
    if (!rest.starts_with("il") && !rest.starts_with("it")) return true;  // quantile, quantity
  }
}

bool is_of_runtimes(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx" || domain == "com.microsoft" ||
         domain == "com.ms.internal.nhwc";
}

bool has_quantized_cache(const Node& node) {
  return std::any_of(kCaches.begin(), kCaches.end(), [&](const CacheScales& c) {
    return node.op_type() == c.op && !(node.input(c.key).empty() && node.input(c.value).empty());
  });
}

}  // namespace

QuantizedOperators::QuantizedOperators(const Model& model) {
  for (const Graph& f : model.functions) {
    if (!is_of_runtimes(f.domain)) functions_.emplace(f.domain, f.name);
  }
}

bool QuantizedOperators::calls_function(const Node& node) const {
  return !functions_.empty() &&
         functions_.contains({std::string_view(node.domain()), std::string_view(node.op_type())});
}

std::string_view QuantizedOperators::reason(const Node& node) const {
  if (node.is_quantize()) return "it quantizes an activation (strip-qdq takes pairs off)";
  const bool onnx = node.domain().empty() || node.domain() == "ai.onnx";
  const bool microsoft = node.domain() == "com.microsoft";
  if (microsoft && has_quantized_cache(node)) return "its cache of keys and values is quantized";
  const bool known = (onnx && is_in(kOnnx, node.op_type())) ||
                     (microsoft && is_in(kMicrosoftOperators, node.op_type())) ||
                     (says_quantized(node) && !calls_function(node));
  if (!known) return "";
  if (weight_operator(node) != nullptr) return "its weight is quantized";
  if (arithmetic_operator(node) != nullptr || integer_product(node) != nullptr) return kArithmetic;
  return "a quantized operator, which dequant does not rewrite";
}

std::string cast_of_codes(const Scopes& scopes, const Graph& graph, const Node& node) {
  if (!node.is("Cast")) return {};
  Resolved input = resolve_constant(scopes, graph, node.input(0), true);
  for (int moves = 0; input.computed != nullptr && moves < kMostMoves; ++moves) {
    const Definition& d = *input.computed;
    if (moving_operator(*d.node) == nullptr) return {};
    input = resolve_constant(scopes, *d.graph, d.node->input(0), true);
  }
  if (!input.constant || input.constant->tensor == nullptr) return {};
  const auto element = input.constant->tensor->element();
  if (!element) return {};
  const bool only_codes =
      bits(*element) < 8 || (bits(*element) == 8 && kind(*element) == Kind::floating);
  if (!only_codes) return {};
  return fmt::format("it makes numbers of codes of type {} without DequantizeLinear",
                     name(*element));
}

std::string counts_text(const OperatorCounts& counts) {
  std::vector<std::pair<std::string_view, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (size_t i = 0; i < std::min(sorted.size(), kMostNamed); ++i) {
    out +=
        fmt::format("{}{} {}", out.empty() ? "" : ", ", sorted[i].second, escaped(sorted[i].first));
  }
  if (sorted.size() > kMostNamed) {
    out += fmt::format(" and {} more operators", sorted.size() - kMostNamed);
  }
  return out;
}

}  // namespace dequant::format::onnx
