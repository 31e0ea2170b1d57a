// Compiling an operator of DirectML from types, shapes and strides, without DirectML's structures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/directml.h"
#include "dequant/tensor.h"

namespace dequant::conformance::directml {

/// An input of a node.
struct NodeTensor {
  TensorType type;
  std::optional<Shape> strides;   ///< none: packed
  std::optional<int64_t> stored;  ///< elements of its buffer; none: as many as the strides reach
};

/// One of the two operators. Its output is packed, has the sizes of x and the type of the scale.
struct Node {
  DML_OPERATOR_TYPE type = DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR;
  DML_QUANTIZATION_TYPE quantization = DML_QUANTIZATION_TYPE_NONE;  ///< only for DEQUANTIZE
  NodeTensor x;
  NodeTensor scale;
  std::optional<NodeTensor> zero_point;
};

/// Compiles the node. Fails as dequant::directml::compile() does, and with invalid_argument for
/// types that DirectML does not have, and for sizes and strides of more than 32 bits.
Result<dequant::directml::Operator> compile(const Node& node, DML_FEATURE_LEVEL level);

/// Enumerators by their names without prefix: "6_2", "DEQUANTIZE", "SCALE". Nothing for other
/// names, and for operators other than the two that dequantize.
std::optional<DML_FEATURE_LEVEL> feature_level_from_name(std::string_view name);
std::optional<DML_OPERATOR_TYPE> operator_from_name(std::string_view name);
std::optional<DML_QUANTIZATION_TYPE> quantization_from_name(std::string_view name);

/// The names of all feature levels, oldest first.
std::vector<std::string> feature_levels();

}  // namespace dequant::conformance::directml
