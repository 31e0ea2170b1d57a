// The shape of what a node makes of numbers that it moves.
#include "format/onnx/moved_shape.h"

#include <algorithm>
#include <span>

#include "format/onnx/evaluation/attributes.h"

namespace dequant::format::onnx {
namespace {

using KnownShape = std::optional<Sizes>;
using Numbers = std::optional<std::vector<int64_t>>;

/// An axis counted from the front; none where there is no such axis.
std::optional<size_t> from_front(int64_t axis, size_t rank) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) return std::nullopt;
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

int64_t product(std::span<const int64_t> sizes) {
  int64_t all = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(all, size, &all)) return kUnknownSize;
  }
  return all;
}

/// The integers of an attribute, or of the second input since that is one.
Result<Numbers> argument(const Model& model, QuantizerFacts& facts, const Crossing& c,
                         std::string_view attribute) {
  DEQUANT_TRY(Numbers numbers, read_ints(model, c.node, attribute));
  if (numbers || c.node.input(1).empty()) return numbers;
  return facts.integers(c.graph, c.node.input(1));
}

KnownShape reshaped(const Crossing& c, const std::vector<int64_t>& argument) {
  const auto allow_zero = int_attribute(c.node, "allowzero", 0);
  if (!allow_zero) return std::nullopt;
  Sizes out = argument;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && *allow_zero == 0) out[i] = i < c.in.size() ? c.in[i] : kUnknownSize;
    out[i] = std::max(out[i], kUnknownSize);
  }
  return out;
}

KnownShape flattened(const Crossing& c) {
  const auto given = int_attribute(c.node, "axis", 1);
  const auto rank = static_cast<int64_t>(c.in.size());
  if (!given || *given < -rank || *given > rank) return std::nullopt;
  const auto axis = static_cast<size_t>(*given < 0 ? *given + rank : *given);
  const std::span<const int64_t> in(c.in);
  return Sizes{product(in.first(axis)), product(in.subspan(axis))};
}

/// True at each of the axes of a tensor of that rank; empty where one does not exist.
std::vector<bool> marked(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<bool> marks(rank);
  for (const int64_t axis : axes) {
    const auto at = from_front(axis, rank);
    if (!at) return {};
    marks[*at] = true;
  }
  return marks;
}

KnownShape squeezed(const Crossing& c, const std::vector<int64_t>& axes) {
  const std::vector<bool> gone = marked(axes, c.in.size());
  if (gone.size() != c.in.size()) return std::nullopt;
  Sizes out;
  for (size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) out.push_back(c.in[i]);
  }
  return out;
}

KnownShape unsqueezed(const Crossing& c, const std::vector<int64_t>& axes) {
  const size_t rank = c.in.size() + axes.size();
  const std::vector<bool> made = marked(axes, rank);
  Sizes out;
  size_t next = 0;
  for (const bool is_new : made) {
    if (!is_new && next == c.in.size()) return std::nullopt;  // an axis is there twice
    out.push_back(is_new ? 1 : c.in[next++]);
  }
  return out.size() == rank && next == c.in.size() ? KnownShape(std::move(out)) : std::nullopt;
}

Result<KnownShape> counted(const Model& model, QuantizerFacts& facts, const Crossing& c) {
  if (c.node.is("Flatten")) return flattened(c);
  const bool reshapes = c.node.is("Reshape");
  DEQUANT_TRY(const Numbers given, argument(model, facts, c, reshapes ? "shape" : "axes"));
  if (!given) return KnownShape();
  if (reshapes) return reshaped(c, *given);
  return c.node.is("Squeeze") ? squeezed(c, *given) : unsqueezed(c, *given);
}

/// Gather: the dimensions of the indices are in place of the gathered one.
KnownShape gathered(const Crossing& c, const KnownShape& indices) {
  const auto given = int_attribute(c.node, c.op.axis, c.op.otherwise);
  const auto axis = given ? from_front(*given, c.in.size()) : std::nullopt;
  if (!axis || !indices) return std::nullopt;
  const auto at = c.in.begin() + static_cast<ptrdiff_t>(*axis);
  Sizes out(c.in.begin(), at);
  out.insert(out.end(), indices->begin(), indices->end());
  out.insert(out.end(), at + 1, c.in.end());
  return out;
}

}  // namespace

Result<KnownShape> moved_shape(const Model& model, QuantizerFacts& facts, Crossing c,
                               const KnownShape& second) {
  c.out.reset();
  switch (c.op.slices) {
    case Slices::of_none:
    case Slices::of_equal: return KnownShape();
    case Slices::of_counted: return counted(model, facts, c);
    case Slices::of_gathered: return gathered(c, second);
    default: break;  // as many dimensions as before
  }
  DEQUANT_TRY(const KeptAxes kept, kept_axes(model, facts, c));
  if (!kept.unknown.empty()) return KnownShape();
  Sizes out(c.in.size(), kUnknownSize);
  for (size_t i = 0; i < kept.to.size(); ++i) {
    if (kept.to[i] != KeptAxes::kLost) out[static_cast<size_t>(kept.to[i])] = c.in[i];
  }
  return KnownShape(std::move(out));
}

}  // namespace dequant::format::onnx
