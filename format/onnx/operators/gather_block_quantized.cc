// com.microsoft GatherBlockQuantized: Gather of rows of a table, which it dequantizes. Codes of 2
// or 4 bits may be stored in a tensor of bytes, the first in the lowest bits; the last dimension
// then counts bytes.
#include <bit>

#include "format/io/errors.h"
#include "format/onnx/operators/weights.h"

namespace dequant::format::onnx {
namespace {
namespace blocks {

using enum Element;

enum Input : size_t { kData, kIndices, kScales, kZeroPoints };
constexpr size_t kQuantized[] = {kData, kScales, kZeroPoints};

constexpr int64_t kMostRank = 8;
/// The first opset whose Gather takes negative indices, as this operator does.
constexpr int64_t kFirstOpset = 11;
constexpr int64_t kFirstBfloat16 = 13;

/// The node's attributes, with axes from the front.
struct Layout {
  std::vector<int64_t> sizes;  ///< of the floats
  size_t axis = 0;             ///< quantize_axis
  int64_t block = 0;
  int64_t codes = 1;  ///< of a byte
};

/// An axis from the front; refuses one outside of the rank.
int64_t axis_of(Operands& in, std::string_view name, int64_t otherwise, size_t rank) {
  const int64_t given = in.integer(name, otherwise);
  const auto r = static_cast<int64_t>(rank);
  if (given < -r || given >= r) in.refuse(fmt::format("{}: {} for rank {}", name, given, rank));
  return given < 0 ? given + r : given;
}

bool is_floating(Element element) { return kind(element) == Kind::floating; }

void read_elements(Operands& in, Dequantization& d, Layout& layout) {
  const Element stored = d.x.type().element;
  const bool known = stored == uint8 || stored == int4 || stored == uint4 || stored == float4e2m1 ||
                     (is_floating(stored) && bits(stored) == 8 && stored != float8e8m0);
  if (!known) in.refuse(fmt::format("{}: no codes of {}", escaped(in.name(kData)), name(stored)));
  const int64_t width = in.integer("bits", 4);
  d.plan.input = stored;
  if (stored != uint8) return;
  if (width != 2 && width != 4 && width != 8)
    in.refuse(fmt::format("bits: {} is not one of 2, 4, 8", width));
  if (!in.reason().empty() || width == 8) return;
  d.plan.input = width == 4 ? uint4 : uint2;
  d.x.packed = d.plan.input;
  layout.codes = 8 / width;
}

Layout read_layout(Operands& in, Dequantization& d) {
  Layout layout;
  read_elements(in, d, layout);
  const Shape shape = d.x.type().shape;
  const size_t rank = shape.size();
  if (rank < 1 || rank > kMostRank) {
    in.refuse(fmt::format("{}: rank {}", escaped(in.name(kData)), rank));
    return layout;
  }
  layout.sizes = {shape.begin(), shape.end()};
  layout.sizes.back() *= layout.codes;
  layout.axis = static_cast<size_t>(axis_of(in, "quantize_axis", 1, rank));
  const int64_t gather = axis_of(in, "gather_axis", 0, rank);
  layout.block = in.integer("block_size", 128);
  const bool whole = layout.block == 0 && is_floating(d.plan.input);
  if (!whole && (layout.block < 16 || !std::has_single_bit(static_cast<uint64_t>(layout.block))))
    in.refuse(fmt::format("block_size: {} is not a power of 2 from 16 on", layout.block));
  if (d.x.type().element == uint8 || d.x.packed) {
    if (gather != 0 || layout.axis != rank - 1 || rank == 1)
      in.refuse("bytes of codes are gathered on the first axis, in blocks on the last");
  }
  for (const int64_t size : shape) {
    if (size < 1) in.refuse(fmt::format("{}: it is empty", escaped(in.name(kData))));
  }
  if (in.reason().empty() && whole) layout.block = layout.sizes[layout.axis];
  return layout;
}

/// The strides of a tensor of parameters, whose last dimension has `codes` in each byte; refuses
/// a tensor without one for each block.
void set_strides(Operands& in, size_t input, const Constant& c, const Layout& layout, Plan& plan,
                 int64_t Dimension::*stride) {
  const Shape shape = c.type().shape;
  const int64_t codes = c.packed ? layout.codes : 1;
  std::vector<int64_t> needed = layout.sizes;
  int64_t& blocks = needed[layout.axis];
  blocks = (blocks - 1) / layout.block + 1;
  needed.back() = (needed.back() - 1) / codes + 1;
  int64_t step = 1;
  bool fits = shape.size() == needed.size();
  for (size_t i = needed.size(); fits && i-- > 0;) {
    const bool repeats = shape[i] == 1 && i != layout.axis && is_floating(plan.input);
    fits = shape[i] == needed[i] || repeats;
    plan.dimensions[i].*stride = repeats ? 0 : step;
    step *= shape[i] * (i + 1 == needed.size() ? codes : 1);
  }
  if (!fits) {
    in.refuse(fmt::format("{}: shape {} where {} is needed", escaped(in.name(input)),
                          text_of(shape), text_of(needed)));
  }
}

Result<std::vector<Weight>> plan_weights(Operands& in) {
  Weight weight{kData, {}};
  Dequantization& d = weight.dequantization;
  DEQUANT_TRY(const auto data, in.constant(kData));
  DEQUANT_TRY(const auto scales, in.constant(kScales));
  if (!in.reason().empty()) return std::vector<Weight>();
  d.x = *data;
  d.scale = *scales;
  const Layout layout = read_layout(in, d);
  Plan& plan = d.plan;
  plan.scale = plan.output = d.scale->type().element;
  if (!is_output(plan.scale))
    in.refuse(fmt::format("{}: {} is no float type", escaped(in.name(kScales)), name(plan.scale)));
  if (in.has(kZeroPoints)) {
    DEQUANT_TRY(d.zero_point, in.constant(kZeroPoints));
    if (is_floating(plan.input)) in.refuse("zero points of codes that are floats");
    if (d.zero_point && d.zero_point->type().element != data->type().element)
      in.refuse(fmt::format("{}: {}, where the codes are {}", escaped(in.name(kZeroPoints)),
                            name(d.zero_point->type().element), name(data->type().element)));
  }
  in.need_opset("Gather", plan.output == bfloat16 ? kFirstBfloat16 : kFirstOpset);
  if (!in.reason().empty()) return std::vector<Weight>();

  plan.granularity = Granularity::strided;
  plan.dimensions.resize(layout.sizes.size());
  int64_t step = 1;
  for (size_t i = layout.sizes.size(); i-- > 0; step *= layout.sizes[i]) {
    Dimension& dimension = plan.dimensions[i];
    dimension.size = layout.sizes[i];
    dimension.x = dimension.y = step;
    if (i == layout.axis) dimension.block = layout.block;
  }
  set_strides(in, kScales, *d.scale, layout, plan, &Dimension::scale);
  if (d.zero_point) {
    plan.has_zero_point = true;
    d.zero_point->packed = d.x.packed;
    set_strides(in, kZeroPoints, *d.zero_point, layout, plan, &Dimension::zero_point);
  } else if (data->type().element == uint8) {
    plan.implicit_zero_point = 1 << (bits(plan.input) - 1);
  }
  d.axis = static_cast<int64_t>(layout.axis);
  d.dense = layout.sizes;
  return std::vector<Weight>{std::move(weight)};
}

Result<std::vector<MadeNode>> float_nodes(Operands& in, std::span<const std::string> weights,
                                          Rewire&) {
  MadeNode gather{.op_type = "Gather",
                  .inputs = {weights[0], in.name(kIndices)},
                  .outputs = {in.node().output(0).str()}};
  gather.attributes = {int_attribute(in.model().store, "axis", in.integer("gather_axis", 0))};
  return std::vector<MadeNode>{std::move(gather)};
}

}  // namespace blocks
}  // namespace

const WeightOperator kGatherBlockQuantized{"com.microsoft",      "GatherBlockQuantized",
                                           blocks::kData,        blocks::kQuantized,
                                           blocks::plan_weights, blocks::float_nodes};

}  // namespace dequant::format::onnx
