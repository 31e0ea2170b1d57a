// com.microsoft MatMulNBits: Y = A * dequantized(B)^T (+ bias). The codes of B, of 2, 4 or 8 bits,
// fill bytes from the lowest bit on; each row of B is padded to whole blocks.
#include <bit>

#include "dequant/codes.h"
#include "format/io/errors.h"
#include "format/onnx/evaluation/cast_constant.h"
#include "format/onnx/operators/weights.h"

namespace dequant::format::onnx {
namespace {
namespace nbits {

using enum Element;

enum Input : size_t { kA, kB, kScales, kZeroPoints, kGroupIndex, kBias };
constexpr size_t kQuantized[] = {kB, kScales, kZeroPoints, kGroupIndex};

/// Sizes by the names of the schema.
struct Sizes {
  int64_t n = 0;
  int64_t k = 0;
  int64_t bits = 0;
  int64_t block = 0;
  int64_t blocks = 0;    ///< k_blocks: of a row
  int64_t blob = 0;      ///< bytes of a block
  int64_t zero_row = 0;  ///< bytes of the packed zero points of a row
};

/// Larger sizes are no sizes of a tensor that a file holds; products of two fit in 64 bits.
constexpr int64_t kMostSize = INT32_MAX;

Sizes sizes_of(Operands& in) {
  Sizes s;
  s.n = in.integer("N");
  s.k = in.integer("K");
  s.bits = in.integer("bits", 4);
  s.block = in.integer("block_size");
  if (s.n < 1 || s.n > kMostSize || s.k < 1 || s.k > kMostSize)
    in.refuse(fmt::format("N {} and K {} are not the sizes of a matrix", s.n, s.k));
  if (s.bits != 2 && s.bits != 4 && s.bits != 8)
    in.refuse(fmt::format("bits: {} is not one of 2, 4, 8", s.bits));
  if (s.block < 16 || s.block > kMostSize || !std::has_single_bit(static_cast<uint64_t>(s.block)))
    in.refuse(fmt::format("block_size: {} is not a power of 2 from 16 on", s.block));
  if (const int64_t prepacked = in.integer("weight_prepacked", 0); prepacked != 0)
    in.refuse(fmt::format("weight_prepacked: B has the layout {} of one device", prepacked));
  if (!in.reason().empty()) return s;
  s.blocks = (s.k - 1) / s.block + 1;
  s.blob = s.block * s.bits / 8;
  s.zero_row = (s.blocks * s.bits + 7) / 8;
  return s;
}

/// Refuses a constant of another element, or whose shape is none of two.
void check(Operands& in, size_t input, const Constant& c, Element element, Shape one, Shape other) {
  const TensorType type = c.type();
  if (type.element == element && (same_shape(type.shape, one) || same_shape(type.shape, other)))
    return;
  in.refuse(fmt::format("{}: {}{} where {}{} is needed", escaped(in.name(input)),
                        name(type.element), text_of(type.shape), name(element), text_of(one)));
}

/// Packed as B is, or as many floats as scales; without them all are 2^(bits - 1).
Status set_zero_points(Operands& in, const Sizes& s, Dequantization& d) {
  Plan& plan = d.plan;
  if (!in.has(kZeroPoints)) {
    plan.implicit_zero_point = 1 << (s.bits - 1);
    return {};
  }
  DEQUANT_TRY(d.zero_point, in.constant(kZeroPoints));
  if (!d.zero_point) return {};
  plan.has_zero_point = true;
  const bool packed = d.zero_point->type().element == uint8;
  const int64_t row = packed ? s.zero_row : s.blocks;
  check(in, kZeroPoints, *d.zero_point, packed ? uint8 : plan.scale, std::array{s.n, row},
        std::array{s.n * row});
  if (!packed) {
    // A plan rounds the difference to the type of float zero points; this operator does not.
    if (plan.scale != float32) d.zero_point = widened(in.node(), *d.zero_point);
    plan.parameters.zero_point = float32;
  } else if (s.bits != 8) {
    d.zero_point->packed = s.bits == 4 ? uint4 : uint2;
    plan.parameters.zero_point = d.zero_point->packed;
  }
  plan.dimensions[0].zero_point = 1;
  plan.dimensions[1].zero_point = packed ? row * 8 / s.bits : row;
  return {};
}

/// The group of each of the K inputs, whose index may be padded as B is.
Status set_group_index(Operands& in, const Sizes& s, Dequantization& d) {
  if (!in.has(kGroupIndex)) return {};
  DEQUANT_TRY(d.group_index, in.constant(kGroupIndex));
  if (!d.group_index) return {};
  check(in, kGroupIndex, *d.group_index, int32, std::array{s.k}, std::array{s.blocks * s.block});
  if (!in.reason().empty()) return {};
  DEQUANT_TRY(const TensorData index, in.data(*d.group_index));
  for (int64_t i = 0; i < s.k; ++i) {
    const auto group = static_cast<int32_t>(load_code(int32, index.bytes, i));
    if (group >= 0 && group < s.blocks) continue;
    in.refuse(fmt::format("{}: {} is none of the {} blocks of a row", escaped(in.name(kGroupIndex)),
                          group, s.blocks));
    return {};
  }
  Dimension& row = d.plan.dimensions[0];
  d.plan.parameters.group_index = {s.blocks, 1, row.zero_point};
  row = {.size = row.size, .x = row.x, .y = row.y, .group_index = 1};
  return {};
}

Result<std::vector<Weight>> plan_weights(Operands& in) {
  std::vector<Weight> weights{{kB, {}}};
  Dequantization& d = weights[0].dequantization;
  const Sizes s = sizes_of(in);
  if (!in.reason().empty()) return weights;
  DEQUANT_TRY(const auto codes, in.constant(kB));
  DEQUANT_TRY(const auto scales, in.constant(kScales));
  if (!in.reason().empty()) return weights;
  d.x = *codes;
  d.scale = *scales;
  check(in, kB, d.x, uint8, std::array{s.n, s.blocks, s.blob}, std::array{s.n, s.blocks * s.blob});
  Plan& plan = d.plan;
  plan.scale = plan.output = d.scale->type().element;
  if (!is_output(plan.scale))
    in.refuse(fmt::format("{}: {} is no float type", escaped(in.name(kScales)), name(plan.scale)));
  check(in, kScales, *d.scale, plan.scale, std::array{s.n, s.blocks}, std::array{s.n * s.blocks});
  if (!in.reason().empty()) return weights;

  const int64_t row = s.blocks * s.block;
  if (s.bits != 8)
    plan.parameters.x_packing = {CodeOrder::words, static_cast<int32_t>(s.bits), row, 0};
  plan.granularity = Granularity::strided;
  plan.dimensions = {{.size = s.k, .x = 1, .scale = 1, .y = s.n, .block = s.block},
                     {.size = s.n, .x = row, .scale = s.blocks, .y = 1}};
  d.axis = 0;
  d.dense = {s.k, s.n};
  DEQUANT_CHECK(set_zero_points(in, s, d));
  if (in.reason().empty()) DEQUANT_CHECK(set_group_index(in, s, d));
  const int64_t opset = *in.graph().opsets.onnx;
  if (in.has(kBias) && opset < 7)
    in.refuse(fmt::format("its bias needs an Add of opset 7; the model imports {}", opset));
  if (plan.output == bfloat16 && opset < 13)
    in.refuse(fmt::format("a MatMul of bfloat16 needs opset 13; the model imports {}", opset));
  return weights;
}

Result<std::vector<MadeNode>> float_nodes(Operands& in, std::span<const std::string> weights,
                                          Rewire& rewire) {
  const std::string y = in.node().output(0).str();
  MadeNode product{.op_type = "MatMul", .inputs = {in.name(kA), weights[0]}, .outputs = {y}};
  if (!in.has(kBias)) return std::vector<MadeNode>{product};
  product.outputs = {rewire.fresh_name(y + "_MatMul")};
  MadeNode sum{.op_type = "Add",
               .inputs = {product.outputs[0], in.name(kBias)},
               .outputs = {y},
               .name = rewire.label(in.node(), "bias")};
  return std::vector<MadeNode>{product, sum};
}

}  // namespace nbits
}  // namespace

const WeightOperator kMatMulNBits{"com.microsoft",   "MatMulNBits",       nbits::kB,
                                  nbits::kQuantized, nbits::plan_weights, nbits::float_nodes};

}  // namespace dequant::format::onnx
