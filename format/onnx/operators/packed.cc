// com.microsoft GatherPacked and MatMulPacked: Gather of rows of a table, and a product with a
// weight [N, K]. Each row of the table or weight is a sequence of GGUF blocks; the attribute
// packed_type is GGUF's number of the block type.
#include "dequant/gguf.h"
#include "format/io/errors.h"
#include "format/onnx/evaluation/attributes.h"
#include "format/onnx/operators/weights.h"

namespace dequant::format::onnx {
namespace {

using enum Element;

/// The floats of a weight: the type of its blocks, the elements of a row, and their output type.
struct Blocks {
  BlockType type;
  int64_t columns;
  Element output;
};

constexpr int64_t kFirstCastLike = 15;  ///< the first opset with CastLike
constexpr int64_t kFirstBfloat16 = 13;  ///< the first opset whose Gather takes bfloat16
constexpr int64_t kBfloat16Code = 16;   ///< TensorProto.DataType

/// The block type of the attribute packed_type.
std::optional<BlockType> block_type_of(Operands& in) {
  const int64_t number = in.integer("packed_type");
  if (!in.reason().empty()) return std::nullopt;
  auto type = gguf::block_type(number);
  if (type) return *type;
  in.refuse("packed_" + std::string(type.error().message));
  return std::nullopt;
}

/// The weight whose blocks are an input, uint8[rows, bytes of a row]; `rows` where the operator
/// states their number.
Result<std::vector<Weight>> weight_of(Operands& in, size_t input, const Blocks& blocks,
                                      std::optional<int64_t> rows) {
  Weight weight{input, {}};
  Dequantization& d = weight.dequantization;
  DEQUANT_TRY(const auto data, in.constant(input));
  if (!in.reason().empty()) return std::vector<Weight>();
  d.x = *data;
  const TensorType stored = d.x.type();
  if (stored.element != uint8 || stored.shape.size() != 2 || stored.shape[0] < 1) {
    in.refuse(fmt::format("{}: {}{} is no matrix of bytes", escaped(in.name(input)),
                          name(stored.element), text_of(stored.shape)));
    return std::vector<Weight>();
  }
  d.dense = {stored.shape[0], blocks.columns};
  auto plan = gguf::dequantize({.type = blocks.type, .shape = d.dense, .output = blocks.output});
  if (!plan) {
    in.refuse(std::string(plan.error().message));
    return std::vector<Weight>();
  }
  d.plan = *std::move(plan);
  const int64_t bytes = blocks.columns / block_elements(blocks.type) * block_bytes(blocks.type);
  if (stored.shape[1] != bytes || rows.value_or(d.dense[0]) != d.dense[0]) {
    in.refuse(fmt::format("{}: uint8{} where [{}, {}] is needed", escaped(in.name(input)),
                          text_of(stored.shape), rows.value_or(d.dense[0]), bytes));
  }
  return std::vector<Weight>{std::move(weight)};
}

namespace gather {

enum Input : size_t { kData, kIndices };
constexpr size_t kQuantized[] = {kData};

Result<std::vector<Weight>> plan_weights(Operands& in) {
  const auto type = block_type_of(in);
  const int64_t columns = in.integer("K");
  const int64_t code = in.integer("output_dtype", kBfloat16Code);
  const auto output = element_from_onnx(code);
  if (!output || !is_output(*output))
    in.refuse(fmt::format("output_dtype: {} is no float type of results", code));
  if (columns < 1) in.refuse(fmt::format("K: {} is no number of columns", columns));
  if (output == bfloat16) in.need_opset("Gather", kFirstBfloat16);
  if (!in.reason().empty()) return std::vector<Weight>();
  return weight_of(in, kData, {*type, columns, *output}, {});
}

Result<std::vector<MadeNode>> float_nodes(Operands& in, std::span<const std::string> weights,
                                          Rewire&) {
  return std::vector<MadeNode>{{.op_type = "Gather",
                                .inputs = {weights[0], in.name(kIndices)},
                                .outputs = {in.node().output(0).str()}}};
}

}  // namespace gather

namespace product {

enum Input : size_t { kA, kB, kGlobalScale };
constexpr size_t kQuantized[] = {kB};

/// The operator rounds the weight to the type of A, which few models state: the constant is
/// float32, and a CastLike node rounds it.
Result<std::vector<Weight>> plan_weights(Operands& in) {
  const auto type = block_type_of(in);
  const int64_t rows = in.integer("N");
  const int64_t columns = in.integer("K");
  DEQUANT_TRY(const auto activation, read_string(in.model(), in.node(), "activation_type"));
  if (activation && *activation != "none")
    in.refuse(fmt::format("activation_type: {}, and only none is read", escaped(*activation)));
  if (in.has(kGlobalScale))
    in.refuse("global_scale multiplies sums before they are rounded, which no float node does");
  if (rows < 1 || columns < 1)
    in.refuse(fmt::format("N {} and K {} are not the sizes of a matrix", rows, columns));
  in.need_opset("CastLike", kFirstCastLike);
  if (!in.reason().empty()) return std::vector<Weight>();
  return weight_of(in, kB, {*type, columns, float32}, rows);
}

Result<std::vector<MadeNode>> float_nodes(Operands& in, std::span<const std::string> weights,
                                          Rewire& rewire) {
  const std::string a = in.name(kA);
  const std::string rounded = rewire.fresh_name(weights[0] + "_rounded");
  const std::string transposed = rewire.fresh_name(weights[0] + "_transposed");
  return std::vector<MadeNode>{
      {.op_type = "CastLike",
       .inputs = {weights[0], a},
       .outputs = {rounded},
       .name = rewire.label(in.node(), "cast")},
      {.op_type = "Transpose",
       .inputs = {rounded},
       .outputs = {transposed},
       .name = rewire.label(in.node(), "transpose")},
      {.op_type = "MatMul", .inputs = {a, transposed}, .outputs = {in.node().output(0).str()}}};
}

}  // namespace product
}  // namespace

const WeightOperator kGatherPacked{"com.microsoft",    "GatherPacked",       gather::kData,
                                   gather::kQuantized, gather::plan_weights, gather::float_nodes};

const WeightOperator kMatMulPacked{"com.microsoft",       "MatMulPacked",
                                   product::kB,           product::kQuantized,
                                   product::plan_weights, product::float_nodes};

}  // namespace dequant::format::onnx
