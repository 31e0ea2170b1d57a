// com.microsoft MatMulBnb4: a product with a weight [N, K] whose codes of 4 bits are indices of a
// table, the first of each byte in the high bits. Blocks of the flattened weight share a scale.
#include <array>
#include <bit>
#include <cstring>

#include "format/io/errors.h"
#include "format/onnx/operators/weights.h"

namespace dequant::format::onnx {
namespace {
namespace bnb4 {

using enum Element;

enum Input : size_t { kA, kB, kAbsmax };
constexpr size_t kQuantized[] = {kB, kAbsmax};

constexpr int64_t kMostSize = INT32_MAX;

using Table = std::array<float, 16>;
/// By quant_type.
constexpr std::array<Table, 2> kTables{
    Table{0.0F, 5.208333333e-03F, 0.66666667F, 1.0F, 0.33333333F, 0.5F, 0.16666667F, 0.25F, -0.0F,
          -5.208333333e-03F, -0.66666667F, -1.0F, -0.33333333F, -0.5F, -0.16666667F, -0.25F},
    Table{-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
          -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
          0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F, 0.33791524171829224F,
          0.44070982933044434F, 0.5626170039176941F, 0.7229568362236023F, 1.0F}};

struct Sizes {
  int64_t n = 0;
  int64_t k = 0;
  int64_t block = 0;
  bool transposes = true;  ///< the weight is read as [K, N]
};

Sizes sizes_of(Operands& in) {
  const Sizes s{in.integer("N"), in.integer("K"), in.integer("block_size"),
                in.integer("transB", 1) != 0};
  if (s.n < 1 || s.n > kMostSize || s.k < 1 || s.k > kMostSize)
    in.refuse(fmt::format("N {} and K {} are not the sizes of a matrix", s.n, s.k));
  if (s.block < 16 || s.block > kMostSize || !std::has_single_bit(static_cast<uint64_t>(s.block)))
    in.refuse(fmt::format("block_size: {} is not a power of 2 from 16 on", s.block));
  return s;
}

/// True where the constant is [K, N] itself, as rows have whole blocks.
bool is_stored_transposed(const Sizes& s) { return s.transposes && s.k % s.block == 0; }

void check(Operands& in, size_t input, const Constant& c, Element element, int64_t count) {
  const TensorType type = c.type();
  const auto stored = element_count(type.shape);
  if (type.element == element && stored && *stored == count) return;
  in.refuse(fmt::format("{}: {}{} where {}[{}] is needed", escaped(in.name(input)),
                        name(type.element), text_of(type.shape), name(element), count));
}

Result<std::vector<Weight>> plan_weights(Operands& in) {
  Weight weight{kB, {}};
  Dequantization& d = weight.dequantization;
  const Sizes s = sizes_of(in);
  const int64_t kind = in.integer("quant_type");
  if (kind != 0 && kind != 1)
    in.refuse(fmt::format("quant_type: {} is neither 0 (FP4) nor 1 (NF4)", kind));
  DEQUANT_TRY(const auto codes, in.constant(kB));
  DEQUANT_TRY(const auto absmax, in.constant(kAbsmax));
  if (!in.reason().empty()) return std::vector<Weight>();
  d.x = *codes;
  d.scale = *absmax;
  const int64_t count = s.n * s.k;
  check(in, kB, d.x, uint8, (count + 1) / 2);
  // Of float16 and bfloat16 one kernel of ONNX Runtime rounds the table, and another does not.
  check(in, kAbsmax, *d.scale, float32, (count - 1) / s.block + 1);

  const Table& table = kTables[static_cast<size_t>(kind)];
  TensorData values{float32, {16}, std::vector<std::byte>(sizeof table)};
  std::memcpy(values.bytes.data(), table.data(), sizeof table);
  d.codebook = Constant{nullptr, std::move(values)};
  Plan& plan = d.plan;
  plan.parameters.codebook = true;
  plan.parameters.x_packing = {CodeOrder::high_first, 4, 0, 0};
  plan.granularity = Granularity::strided;
  if (is_stored_transposed(s)) {
    plan.dimensions = {{.size = s.k, .x = 1, .scale = 1, .y = s.n, .block = s.block},
                       {.size = s.n, .x = s.k, .scale = s.k / s.block, .y = 1}};
    d.dense = {s.k, s.n};
  } else {
    plan.dimensions = {{.size = count, .x = 1, .scale = 1, .y = 1, .block = s.block}};
    d.dense = {s.n, s.k};
  }
  return std::vector<Weight>{std::move(weight)};
}

Result<std::vector<MadeNode>> float_nodes(Operands& in, std::span<const std::string> weights,
                                          Rewire& rewire) {
  const Sizes s = sizes_of(in);
  std::vector<MadeNode> nodes;
  std::string weight = weights[0];
  if (s.transposes && !is_stored_transposed(s)) {  // of two dimensions, which it swaps
    nodes.push_back({.op_type = "Transpose",
                     .inputs = {weight},
                     .outputs = {rewire.fresh_name(weight + "_transposed")},
                     .name = rewire.label(in.node(), "transpose")});
    weight = nodes[0].outputs[0];
  }
  nodes.push_back({.op_type = "MatMul",
                   .inputs = {in.name(kA), weight},
                   .outputs = {in.node().output(0).str()}});
  return nodes;
}

}  // namespace bnb4
}  // namespace

const WeightOperator kMatMulBnb4{"com.microsoft",  "MatMulBnb4",       bnb4::kB,
                                 bnb4::kQuantized, bnb4::plan_weights, bnb4::float_nodes};

}  // namespace dequant::format::onnx
