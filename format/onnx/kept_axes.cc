// Where nodes that move numbers put the slices of their inputs.
#include "format/onnx/kept_axes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "format/io/errors.h"
#include "format/onnx/evaluation/attributes.h"

namespace dequant::format::onnx {
namespace {

using Axes = std::vector<int64_t>;

KeptAxes unknown(std::string what) { return {{}, std::move(what)}; }

KeptAxes unknown_shape(const Crossing& c) {
  return unknown(fmt::format("the shape of {}", escaped(c.node.output(0))));
}

KeptAxes unknown_input(const Crossing& c, size_t input) {
  return unknown(
      fmt::format("input {} of {}", escaped(c.node.input(input)), escaped(c.node.label())));
}

int64_t rank_of(const Crossing& c) { return static_cast<int64_t>(c.in.size()); }

/// An axis counted from the front; kLost for one that the input does not have.
int64_t from_front(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return KeptAxes::kLost;
  return axis < 0 ? axis + rank : axis;
}

KeptAxes none_kept(const Crossing& c) { return {Axes(c.in.size(), KeptAxes::kLost), {}}; }

/// Every axis at its place but these.
KeptAxes all_but(const Crossing& c, const Axes& lost) {
  KeptAxes kept = none_kept(c);
  std::iota(kept.to.begin(), kept.to.end(), 0);
  for (const int64_t axis : lost) {
    const int64_t at = from_front(axis, rank_of(c));
    if (at == KeptAxes::kLost) return none_kept(c);
    kept.to[static_cast<size_t>(at)] = KeptAxes::kLost;
  }
  return kept;
}

KeptAxes of_others(const Crossing& c) {
  const auto axis = int_attribute(c.node, c.op.axis, c.op.otherwise);
  return axis ? all_but(c, {*axis}) : unknown(axis.error().message);
}

/// An Expand, Tile or Where repeats numbers along an axis whose size changes.
KeptAxes of_equal(const Crossing& c) {
  if (!c.out) return unknown_shape(c);
  KeptAxes kept = none_kept(c);
  const int64_t more = static_cast<int64_t>(c.out->size()) - rank_of(c);
  for (int64_t i = std::max<int64_t>(0, -more); i < rank_of(c); ++i) {
    const int64_t size = c.in[static_cast<size_t>(i)];
    if (size != kUnknownSize && size == (*c.out)[static_cast<size_t>(i + more)])
      kept.to[static_cast<size_t>(i)] = i + more;
  }
  return kept;
}

/// Gather: behind the gathered axis the axes are moved by the rank of the indices.
KeptAxes of_gathered(const Crossing& c) {
  if (!c.out) return unknown_shape(c);
  KeptAxes kept = of_others(c);
  const int64_t more = static_cast<int64_t>(c.out->size()) - rank_of(c);
  if (more < -1) return none_kept(c);
  bool behind = false;
  for (int64_t& to : kept.to) {
    if (to == KeptAxes::kLost) {
      behind = true;
    } else if (behind) {
      to += more;
    }
  }
  return kept;
}

/// Slice: the axes that it cuts. Before opset 10 they are an attribute, as starts are.
Result<KeptAxes> of_unlisted(const Model& model, QuantizerFacts& facts, const Crossing& c) {
  DEQUANT_TRY(auto axes, read_ints(model, c.node, "axes"));
  if (!axes && !c.node.input(3).empty()) {
    DEQUANT_TRY(axes, facts.integers(c.graph, c.node.input(3)));
    if (!axes) return unknown_input(c, 3);
  }
  if (!axes) {  // the first axes, as many as there are starts
    DEQUANT_TRY(const auto starts, facts.integers(c.graph, c.node.input(1)));
    if (!starts) return unknown_input(c, 1);
    axes.emplace(std::min(starts->size(), c.in.size()));
    std::iota(axes->begin(), axes->end(), 0);
  }
  return all_but(c, *axes);
}

/// Pad: its pads are an input, as before opset 11 it does not move floats as it moves codes.
Result<KeptAxes> of_unpadded(QuantizerFacts& facts, const Crossing& c) {
  DEQUANT_TRY(const auto pads, facts.integers(c.graph, c.node.input(1)));
  if (!pads) return unknown_input(c, 1);
  Axes axes(c.in.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (!c.node.input(3).empty()) {
    DEQUANT_TRY(const auto listed, facts.integers(c.graph, c.node.input(3)));
    if (!listed) return unknown_input(c, 3);
    axes = *listed;
  }
  if (pads->size() != 2 * axes.size()) return none_kept(c);
  Axes padded;
  for (size_t i = 0; i < axes.size(); ++i) {
    if ((*pads)[i] != 0 || (*pads)[i + axes.size()] != 0) padded.push_back(axes[i]);
  }
  return all_but(c, padded);
}

Result<KeptAxes> of_permuted(const Model& model, const Crossing& c) {
  DEQUANT_TRY(auto perm, read_ints(model, c.node, "perm"));
  if (!perm) {  // the axes in reverse
    perm.emplace(c.in.size());
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  KeptAxes kept = none_kept(c);
  for (size_t i = 0; perm->size() == c.in.size() && i < perm->size(); ++i) {
    const int64_t from = from_front((*perm)[i], rank_of(c));
    if (from != KeptAxes::kLost) kept.to[static_cast<size_t>(from)] = static_cast<int64_t>(i);
  }
  return kept;
}

/// The number of elements before each axis, and behind each axis: 0 where a size is 0 or unknown,
/// or where they are too many to count.
struct Counts {
  explicit Counts(const Sizes& sizes) : before(sizes.size()), behind(sizes.size()) {
    int64_t all = 1;
    for (size_t i = 0; i < sizes.size(); ++i) before[i] = std::exchange(all, times(all, sizes[i]));
    all = 1;
    for (size_t i = sizes.size(); i-- > 0;) behind[i] = std::exchange(all, times(all, sizes[i]));
  }

  static int64_t times(int64_t a, int64_t b) {
    int64_t product = 0;
    return b < 1 || __builtin_mul_overflow(a, b, &product) ? 0 : product;
  }

  Sizes before;
  Sizes behind;
};

/// Reshape, Flatten, Squeeze, Unsqueeze: the elements stay in their order. An axis stays where the
/// elements before it are as many as before, or those behind it: as all are equally many, then both
/// are. An axis of size 1 is not looked for, as others of size 1 may stand beside it: slices with
/// scales of their own are several.
KeptAxes of_counted(const Crossing& c) {
  if (!c.out) return unknown_shape(c);
  KeptAxes kept = none_kept(c);
  const Counts in(c.in);
  const Counts out(*c.out);
  for (size_t i = 0; i < c.in.size(); ++i) {
    for (size_t j = 0; c.in[i] > 1 && j < c.out->size(); ++j) {
      const bool same = (in.before[i] != 0 && in.before[i] == out.before[j]) ||
                        (in.behind[i] != 0 && in.behind[i] == out.behind[j]);
      if (same && c.in[i] == (*c.out)[j]) kept.to[i] = static_cast<int64_t>(j);
    }
  }
  return kept;
}

}  // namespace

Result<KeptAxes> kept_axes(const Model& model, QuantizerFacts& facts, const Crossing& c) {
  switch (c.op.slices) {
    case Slices::of_none: return none_kept(c);
    case Slices::of_all: return all_but(c, {});
    case Slices::of_equal: return of_equal(c);
    case Slices::of_others: return of_others(c);
    case Slices::of_gathered: return of_gathered(c);
    case Slices::of_unlisted: return of_unlisted(model, facts, c);
    case Slices::of_batch_and_channels: {
      KeptAxes kept = all_but(c, {});
      for (int64_t& to : kept.to) to = to > 1 ? KeptAxes::kLost : to;
      return kept;
    }
    case Slices::of_unpadded: return of_unpadded(facts, c);
    case Slices::of_permuted: return of_permuted(model, c);
    case Slices::of_counted: return of_counted(c);
  }
  return KeptAxes{};
}

}  // namespace dequant::format::onnx
