// Replacing all operators of quantized arithmetic of a model.
#include "format/onnx/operators/expansion.h"

#include <utility>

#include "format/io/errors.h"
#include "format/onnx/operators/dynamic.h"

namespace dequant::format::onnx {

Status expand_all(Model& model, ExternalFiles& files, Constants& constants, Rewire& rewire,
                  const ExpansionVisitor& visitor) {
  for (Graph* graph : rewire.scopes().graphs()) {
    for (Node& node : graph->nodes) {
      const ArithmeticOperator* product = integer_product(node);
      const ArithmeticOperator* op = product != nullptr ? product : arithmetic_operator(node);
      if (op == nullptr || rewire.made(node) || rewire.removed(node)) continue;
      DEQUANT_TRY(const bool wanted, visitor.wanted(*graph, node, *op));
      if (!wanted) continue;
      DEQUANT_CHECK(model.take(kExpandMemory));
      Operands operands(model, files, constants, *graph, node);
      auto made = product != nullptr ? expand_product(*op, operands, files, constants, rewire)
                                     : expand(*op, operands, constants, rewire);
      if (!made) {
        return in(fmt::format("{}: node {}", escaped(model.path), escaped(node.label())),
                  std::move(made).error());
      }
      visitor.done({node, *op, *std::move(made), operands.reason()});
    }
  }
  return {};
}

}  // namespace dequant::format::onnx
