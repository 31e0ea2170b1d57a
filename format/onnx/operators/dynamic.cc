// Products of integers as dynamic quantization writes them.
#include "format/onnx/operators/dynamic.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

constexpr FloatInput input(size_t codes, std::optional<int64_t> axis) {
  FloatInput input{FloatInput::Kind::quantized, codes, codes + 2, codes + 4, 0, axis};
  input.may_have_no_scale = codes == 0;
  input.scales_of_output = axis == 0;
  return input;
}

// A scale for each column of B is one for each number of the product's last axis; a Conv has its
// channels before the others.
constexpr FloatInput kMatMul[] = {input(0, {}), input(1, -1)};
constexpr FloatInput kConv[] = {input(0, {}), input(1, 0)};

constexpr ArithmeticOperator kProducts[] = {
    {"", "MatMulInteger", "MatMul", "", 11, kMatMul},
    {"", "ConvInteger", "Conv", "", 11, kConv, 0, {}, kConvAttributes},
};

/// The nodes behind a product, which nothing else reads.
struct Tail {
  Node* cast = nullptr;
  Node* scaled = nullptr;  ///< the Mul whose output is the float product
  Text factor;             ///< what it multiplies by
  Node* scales = nullptr;  ///< the Mul of both scales that computes the factor; null: none does
};

/// The node that alone reads a name, in the same graph; null where there is no such node.
Node* only_reader(const Rewire& rewire, const Graph& graph, Text name) {
  Node* reader = nullptr;
  for (const Use& use : rewire.uses_of(graph, name)) {
    if (use.node == nullptr || use.graph != &graph || reader != nullptr) return nullptr;
    reader = use.node;
  }
  return reader != nullptr && reader->outputs.size() == 1 ? reader : nullptr;
}

/// Without `scaled` where the nodes are others.
Tail tail_of(const Rewire& rewire, const Graph& graph, const Node& product) {
  Tail tail;
  tail.cast = only_reader(rewire, graph, product.outputs[0].text);
  if (tail.cast == nullptr || !tail.cast->is("Cast")) return {};
  const Attribute* to = tail.cast->attribute("to");
  if (to == nullptr || to->i != onnx_code(Element::float32)) return {};
  tail.scaled = only_reader(rewire, graph, tail.cast->outputs[0].text);
  if (tail.scaled == nullptr || !tail.scaled->is("Mul") || tail.scaled->inputs.size() != 2)
    return {};
  const bool first = tail.scaled->input(0) == tail.cast->outputs[0].text;
  tail.factor = tail.scaled->inputs[first ? 1 : 0].text;
  const Definition* scales = rewire.scopes().find(graph, tail.factor);
  if (scales != nullptr && scales->graph == &graph && scales->node != nullptr &&
      scales->node->is("Mul") && scales->node->inputs.size() == 2) {
    tail.scales = scales->node;
  }
  return tail;
}

/// The names of the scales of both inputs of a product. The first is empty, which stands for 1,
/// where an optimizer has computed the product of both, which then is the second. Both are empty
/// where there are no scales.
Result<std::pair<std::string, std::string>> scales_of(const Graph& graph, const Tail& tail,
                                                      Constants& constants) {
  std::pair<std::string, std::string> names;
  if (tail.scaled == nullptr) return names;
  if (tail.scales == nullptr) {
    DEQUANT_TRY(const Resolved factor, constants.resolve(graph, tail.factor));
    if (factor.constant) names.second = tail.factor.str();
    return names;
  }
  names = {tail.scales->input(0).str(), tail.scales->input(1).str()};
  // Dynamic quantization computes the first scale; the second is constant.
  DEQUANT_TRY(const Resolved one, constants.resolve(graph, names.first));
  DEQUANT_TRY(const Resolved two, constants.resolve(graph, names.second));
  if (one.constant && !two.constant) names.first.swap(names.second);
  return names;
}

void retire_if_unused(Rewire& rewire, Graph& graph, Node& node) {
  if (!rewire.removed(node) && !rewire.is_used(graph, node.outputs[0].text))
    rewire.retire_node(graph, node);
}

}  // namespace

const ArithmeticOperator* integer_product(const Node& node) {
  for (const ArithmeticOperator& op : kProducts) {
    if (node.is(op.type)) return &op;
  }
  return nullptr;
}

Result<std::vector<Node*>> expand_product(const ArithmeticOperator& op, Operands& in,
                                          ExternalFiles& files, Constants& constants,
                                          Rewire& rewire) {
  Graph& graph = in.graph();
  Node& product = in.node();
  const Tail tail = product.outputs.size() == 1 ? tail_of(rewire, graph, product) : Tail{};
  DEQUANT_TRY(const auto scales, scales_of(graph, tail, constants));
  if (scales.second.empty()) {
    in.refuse("no Cast to float32 and Mul by both scales follow, as dynamic quantization has them");
    return std::vector<Node*>();
  }
  MadeNode with_scales{
      .op_type = product.op_type(),
      .inputs = {in.name(0), in.name(1), scales.first, scales.second, in.name(2), in.name(3)},
      .outputs = {tail.scaled->output(0).str()},
      .name = product.name.str()};
  Node& whole = rewire.unattached(with_scales, product);
  whole.attributes = product.attributes;
  Operands operands(in.model(), files, constants, graph, whole);
  DEQUANT_TRY(std::vector<Node*> made, expand(op, operands, constants, rewire, tail.scaled));
  if (!operands.reason().empty()) {
    in.refuse(operands.reason());
    return std::vector<Node*>();
  }
  for (Node* node : {tail.cast, &product, tail.scales})
    if (node != nullptr) retire_if_unused(rewire, graph, *node);
  return made;
}

}  // namespace dequant::format::onnx
