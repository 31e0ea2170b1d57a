// Products of integers as dynamic quantization writes them: MatMulInteger or ConvInteger, a Cast to
// float32, and a Mul by the product of both scales, which may be one constant. A float product
// replaces them all.
#pragma once

#include "format/onnx/operators/arithmetic.h"

namespace dequant::format::onnx {

/// The row of a node's operator: what it is with the scales, inputs 2 and 3 before zero points 4
/// and 5. Null for other operators.
const ArithmeticOperator* integer_product(const Node& node);

/// Replaces such a node, and those behind it, where they are as above; returns the made nodes, or
/// sets Operands::reason() of the node. Fails with malformed, limit or io.
Result<std::vector<Node*>> expand_product(const ArithmeticOperator& op, Operands& in,
                                          ExternalFiles& files, Constants& constants,
                                          Rewire& rewire);

}  // namespace dequant::format::onnx
