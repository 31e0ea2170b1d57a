// The weights of an ONNX model that operators dequantize themselves: as `convert` writes them.
#include "format/io/errors.h"
#include "format/onnx/onnx_file.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {
namespace {

/// What is kept of a weight takes at most, beside the characters of its name.
constexpr int64_t kWeightMemory = 2048;

/// Owns what a dense tensor refers to.
struct Origin {
  Dequantization dequantization;
  std::vector<int64_t> codes;  ///< shapes
  std::vector<int64_t> zero_point;
};

/// The shape of a constant, of packed codes with their number in place of that of their bytes.
std::vector<int64_t> shape_in_codes(const Constant& constant) {
  const Shape stored = constant.type().shape;
  std::vector<int64_t> shape(stored.begin(), stored.end());
  if (constant.packed && !shape.empty()) shape.back() *= 8 / bits(*constant.packed);
  return shape;
}

}  // namespace

Status OnnxFile::visit_weights(Graph& graph, Node& node, const WeightOperator& op,
                               const TensorVisitor& visitor) {
  Operands operands(*model_, files_, constants_, graph, node);
  DEQUANT_TRY(std::vector<Weight> weights, consider_weights(op, operands));
  if (weights.empty()) {
    LeftTensor left;
    static_cast<TensorFacts&>(left) = facts_of(graph, node, op.codes);
    left.reason = operands.reason();
    return visitor.left(left);
  }
  for (const Weight& weight : weights) {
    DEQUANT_TRY(const std::string_view name, name_of_weight(node, weight.codes));
    if (comes_again(weight)) continue;
    DenseTensor tensor = weight_tensor(weight);
    tensor.name = name;
    DEQUANT_CHECK(visitor.dense(tensor));
  }
  return {};
}

/// True for a weight that equals an earlier one: convert writes one constant for both.
bool OnnxFile::comes_again(const Weight& weight) {
  const Dequantization& d = weight.dequantization;
  const auto [at, is_new] = first_weights_.try_emplace(key_of(d), weight);
  const Weight& first = at->second;
  const bool is_first = first.dequantization.node == d.node && first.codes == weight.codes;
  return !is_new && !is_first && gives_same(first.dequantization, d);
}

DenseTensor OnnxFile::weight_tensor(const Weight& weight) {
  auto origin = std::make_shared<Origin>();
  origin->dequantization = weight.dequantization;
  const Dequantization& d = origin->dequantization;
  DenseTensor tensor = dense_tensor({origin, &d});
  static_cast<TensorFacts&>(tensor) = facts_of(*d.graph, *d.node, weight.codes);
  tensor.shape = d.dense;
  tensor.stored.type.shape = origin->codes = shape_in_codes(d.x);
  if (d.zero_point)
    tensor.recipe->zero_point->type.shape = origin->zero_point = shape_in_codes(*d.zero_point);
  tensor.origin = std::move(origin);
  return tensor;
}

/// The name that the constant gets in the float model. Fails with limit.
Result<std::string_view> OnnxFile::name_of_weight(const Node& node, size_t codes) {
  const auto [at, is_new] = weight_names_.try_emplace({&node, codes});
  if (is_new) {
    at->second = free_name(weight_name(node.input(codes)), [&](const std::string& name) {
      return !model_->store.find(name).empty() || taken_names_.contains(name);
    });
    taken_names_.insert(at->second);
    DEQUANT_CHECK(model_->take(kWeightMemory + static_cast<int64_t>(at->second.size())));
  }
  return std::string_view(at->second);
}

}  // namespace dequant::format::onnx
