// Operators that dequantize a constant weight themselves.
#include "format/onnx/operators/weights.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/onnx/original_name.h"

namespace dequant::format::onnx {
namespace {

constexpr const WeightOperator* kWeightOperators[] = {&kMatMulNBits,  &kGatherBlockQuantized,
                                                      &kMatMulBnb4,   &kDynamicQuantizeLstm,
                                                      &kGatherPacked, &kMatMulPacked};

}  // namespace

const WeightOperator* weight_operator(const Node& node) {
  for (const WeightOperator* op : kWeightOperators) {
    if (node.domain() == op->domain && node.op_type() == op->type) return op;
  }
  return nullptr;
}

bool is_of_weight(const Node& node, size_t input) {
  const WeightOperator* op = weight_operator(node);
  return op != nullptr &&
         std::find(op->quantized.begin(), op->quantized.end(), input) != op->quantized.end();
}

std::string weight_name(std::string_view codes) {
  const std::string_view original = original_name(codes);
  return original.empty() ? std::string(codes) + "_dequantized" : std::string(original);
}

Result<std::vector<Weight>> consider_weights(const WeightOperator& op, Operands& in) {
  const size_t outputs = in.node().outputs.size();
  const bool single = op.outputs == 1;
  if (outputs < 1 || outputs > op.outputs || (single && in.node().output(0).empty()))
    in.refuse(fmt::format("{} outputs, where {} is allowed", outputs, op.outputs));
  if (!in.graph().opsets.onnx) in.refuse("the model imports no ai.onnx operator set");
  std::vector<Weight> weights;
  if (in.reason().empty()) {
    DEQUANT_TRY(weights, op.plan(in));
  }
  for (Weight& w : weights) {
    w.dequantization.graph = &in.graph();
    w.dequantization.node = &in.node();
    if (!in.reason().empty()) break;
    // Checks the plan, as no element is computed.
    if (auto status = run_range(w.dequantization.plan, {0, 0}, {}); !status)
      in.refuse(std::string(status.error().message));
  }
  if (!in.reason().empty()) weights.clear();
  return weights;
}

Result<std::vector<Node*>> replace_by_float(const WeightOperator& op, Operands& in,
                                            std::span<const size_t> codes, Rewire& rewire) {
  Node& node = in.node();
  std::vector<MadeNode> nodes;
  std::vector<std::string> weights;
  for (const size_t input : codes) {
    weights.push_back(rewire.fresh_name(weight_name(in.name(input))));
    // The node of a weight reads all constants, so that they go where nothing else reads them.
    nodes.push_back({.op_type = node.op_type(),
                     .outputs = {weights.back()},
                     .domain = node.domain(),
                     .name = rewire.label(node, "weight")});
    for (const Name& name : node.inputs) nodes.back().inputs.push_back(name.text.str());
  }
  DEQUANT_TRY(std::vector<MadeNode> floats, op.nodes(in, weights, rewire));
  for (MadeNode& made : floats) nodes.push_back(std::move(made));
  return rewire.expand(in.graph(), node, nodes);
}

}  // namespace dequant::format::onnx
