// Products of integers as dynamic quantization writes them.
#include "format/onnx/operators/dynamic.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

constexpr FloatInput input(size_t codes, std::optional<int64_t> axis) {
  return {FloatInput::Kind::quantized, codes, codes + 2, codes + 4, 0, axis};
}

// A scale for each column of B is one for each number of the product's last axis; that of a Conv
// has its channels elsewhere.
constexpr FloatInput kMatMul[] = {input(0, {}), input(1, -1)};
constexpr FloatInput kConv[] = {input(0, {}), input(1, {})};

constexpr ArithmeticOperator kProducts[] = {
    {"", "MatMulInteger", "MatMul", "", 11, kMatMul},
    {"", "ConvInteger", "Conv", "", 11, kConv, 0, {}, kConvAttributes},
};

/// The nodes behind a product, which nothing else reads.
struct Tail {
  Node* cast = nullptr;
  Node* scaled = nullptr;  ///< the Mul whose output is the float product
  Node* scales = nullptr;  ///< the Mul of both scales
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

/// Null members where the nodes are others.
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
  const Definition* scales = rewire.scopes().find(graph, tail.scaled->input(first ? 1 : 0));
  if (scales == nullptr || scales->graph != &graph || scales->node == nullptr) return {};
  tail.scales = scales->node;
  return tail.scales->is("Mul") && tail.scales->inputs.size() == 2 ? tail : Tail{};
}

void retire_if_unused(Rewire& rewire, Graph& graph, Node& node) {
  if (!rewire.removed(node) && rewire.uses_of(graph, node.outputs[0].text).empty())
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
  if (tail.scales == nullptr) {
    in.refuse("no Cast to float32 and Mul by both scales follow, as dynamic quantization has them");
    return std::vector<Node*>();
  }
  // Dynamic quantization computes the first scale; the second is constant.
  size_t first = 0;
  DEQUANT_TRY(const Resolved scale, constants.resolve(graph, tail.scales->input(0)));
  if (scale.constant) first = 1;
  if (scale.constant) {
    DEQUANT_TRY(const Resolved other, constants.resolve(graph, tail.scales->input(1)));
    if (other.constant) first = 0;
  }
  MadeNode with_scales{.op_type = product.op_type(),
                       .inputs = {in.name(0), in.name(1), tail.scales->input(first).str(),
                                  tail.scales->input(1 - first).str(), in.name(2), in.name(3)},
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
  for (Node* node : {tail.cast, &product, tail.scales}) retire_if_unused(rewire, graph, *node);
  return made;
}

}  // namespace dequant::format::onnx
