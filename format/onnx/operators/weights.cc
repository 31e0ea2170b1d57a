// Operators that dequantize a constant weight themselves.
#include "format/onnx/operators/weights.h"

#include "format/io/errors.h"
#include "format/onnx/original_name.h"

namespace dequant::format::onnx {
namespace {

constexpr const WeightOperator* kOperators[] = {&kMatMulNBits};

/// The name that the weight had before it was quantized, or one made from that of its codes.
std::string weight_name(const Operands& in, size_t codes, Rewire& rewire) {
  const std::string stored = in.name(codes);
  const std::string_view original = original_name(stored);
  return rewire.fresh_name(original.empty() ? stored + "_dequantized" : std::string(original));
}

}  // namespace

const WeightOperator* weight_operator(const Node& node) {
  for (const WeightOperator* op : kOperators) {
    if (node.domain() == op->domain && node.op_type() == op->type) return op;
  }
  return nullptr;
}

Result<Decision> consider_weight(const WeightOperator& op, Operands& in) {
  if (in.node().outputs.size() != 1 || in.node().output(0).empty())
    in.refuse(fmt::format("{} outputs, where 1 is allowed", in.node().outputs.size()));
  if (!in.graph().opsets.onnx) in.refuse("the model imports no ai.onnx operator set");
  if (!in.reason().empty()) return Decision{{}, in.reason()};
  DEQUANT_TRY(Dequantization d, op.plan(in));
  if (!in.reason().empty()) return Decision{{}, in.reason()};
  d.graph = &in.graph();
  d.node = &in.node();
  // Checks the plan, as no element is computed.
  if (auto status = run_range(d.plan, {0, 0}, {}); !status)
    return Decision{{}, std::string(status.error().message)};
  return Decision{std::move(d), {}};
}

Result<std::vector<Node*>> replace_by_float(const WeightOperator& op, Operands& in,
                                            Rewire& rewire) {
  const std::string weight = weight_name(in, op.codes, rewire);
  Node& node = in.node();
  // The node of the weight reads all constants, so that they go where nothing else reads them.
  MadeNode dequantize{.op_type = node.op_type(),
                      .outputs = {weight},
                      .domain = node.domain(),
                      .name = rewire.label(node, "weight")};
  for (const Name& input : node.inputs) dequantize.inputs.push_back(input.text.str());
  DEQUANT_TRY(std::vector<MadeNode> nodes, op.nodes(in, weight, rewire));
  nodes.insert(nodes.begin(), std::move(dequantize));
  return rewire.expand(in.graph(), node, nodes);
}

}  // namespace dequant::format::onnx
