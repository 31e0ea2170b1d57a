// Statistics of the constant scales and zero points of nodes whose x is computed.
#include "format/onnx/parameters.h"

#include <algorithm>

#include "format/io/numbers.h"
#include "format/onnx/constant_reader.h"
#include "format/profile/code_ends.h"

namespace dequant::format::onnx {
namespace {

/// Scales read at once; a multiple of 8.
constexpr int64_t kStep = int64_t{1} << 16;
/// Bytes of memory for the scales of scales that are computed.
constexpr int64_t kMemory = int64_t{64} << 20;

/// Fewer scales than these are read again, which is as fast as keeping their statistics.
constexpr int64_t kLeastRemembered = 1024;

bool is_scale(Element element) { return is_output(element) || element == Element::float8e8m0; }

/// The type that output_dtype names, or `otherwise`.
Element attribute_type(const Node& node, Element otherwise) {
  const Attribute* a = node.attribute("output_dtype");
  return a == nullptr || a->i == 0 ? otherwise : element_from_onnx(a->i).value_or(otherwise);
}

Status read(StoredReader& scales, StoredReader* zero_points, Element output, Parameters& p) {
  std::optional<CodeEnds> ends;
  const bool pairs = zero_points == nullptr || zero_points->left() == scales.left();
  if (p.type && pairs) {
    ends.emplace(*p.type, p.scale_type, zero_points != nullptr, output,
                 std::min(kStep, scales.left()));
  }
  while (scales.left() > 0) {
    const int64_t count = std::min(kStep, scales.left());
    DEQUANT_TRY(const auto scale, scales.next(count));
    for_each_number(
        p.scale_type, scale, [&](double s) { p.scale.add(s); }, count);
    std::span<const std::byte> zero;
    if (zero_points != nullptr && pairs) {
      DEQUANT_TRY(zero, zero_points->next(count));
      for_each_number(
          zero_points->element(), zero, [&](double z) { p.zero_point.add(z); }, count);
    }
    // Where x is a float type, a zero point other than zero is an error of the node, not of the
    // file.
    const auto cover = [&](const Ends& e) {
      p.covered.add(e.first);
      p.covered.add(e.second);
    };
    if (ends && !ends->visit(scale, zero, count, cover)) {
      p.covered = {};
      ends.reset();
    }
  }
  DEQUANT_CHECK(scales.finish());
  return zero_points != nullptr && pairs ? zero_points->finish() : Status{};
}

}  // namespace

/// The type of the zero point, or else the output type of a QuantizeLinear, or else the declared
/// type of an input.
Result<std::optional<Element>> ParameterFinder::type_of_x(const Graph& graph, const Node& node) {
  const std::optional<Element> none;
  const Definition* x = scopes_.find(graph, node.input(0));
  if (x == nullptr) return none;
  if (x->value() != nullptr) return element_from_onnx(x->value()->elem_type);
  if (x->node == nullptr || !x->node->is_quantize()) return none;
  if (x->node->input(2).empty()) return std::optional(attribute_type(*x->node, Element::uint8));
  DEQUANT_TRY(const Resolved zero, constants_.resolve(*x->graph, x->node->input(2)));
  if (!zero.constant || zero.constant->literal || !zero.constant->readable()) return none;
  return std::optional(zero.constant->type().element);
}

Result<std::optional<Parameters>> ParameterFinder::find(const Graph& graph, const Node& node) {
  const std::optional<Parameters> none;
  const bool has_zero_point = !node.input(2).empty();
  if (node.input(0).empty() || node.input(1).empty()) return none;
  DEQUANT_TRY(const Resolved scale, constants_.resolve(graph, node.input(1)));
  Resolved zero_point;
  if (has_zero_point) {
    DEQUANT_TRY(zero_point, constants_.resolve(graph, node.input(2)));
  }
  const auto readable = [](const Resolved& r) { return r.constant && r.constant->readable(); };
  if (!readable(scale) || (has_zero_point && !readable(zero_point))) return none;

  Parameters p;
  p.scale_type = scale.constant->type().element;
  if (has_zero_point) {
    p.type = zero_point.constant->type().element;
  } else {
    DEQUANT_TRY(p.type, type_of_x(graph, node));
  }
  const Element output = attribute_type(node, p.scale_type);
  if (!is_scale(p.scale_type) || (p.type && !is_input(*p.type))) return none;
  if (!is_output(output)) p.type.reset();
  const void* zero_identity = has_zero_point ? zero_point.constant->identity() : nullptr;
  const Key key{scale.constant->identity(), zero_identity, p.type, output};
  if (const auto known = found_.find(key); known != found_.end())
    return std::optional(known->second);

  DEQUANT_TRY(const auto scales, open_constant(model_, files_, *scale.constant, kMemory));
  p.scale_count = scales->count();
  std::unique_ptr<StoredReader> zeros;
  if (has_zero_point) {
    DEQUANT_TRY(zeros, open_constant(model_, files_, *zero_point.constant, kMemory));
  }
  DEQUANT_CHECK(read(*scales, zeros.get(), output, p));
  if (p.scale_count >= kLeastRemembered) found_.emplace(key, p);
  return std::optional(p);
}

}  // namespace dequant::format::onnx
