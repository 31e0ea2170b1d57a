// DirectML's two operators. The codes of an input with strides are all elements of its buffer.
#include "conformance/cases/dialects/dialects.h"
#include "conformance/cases/dialects/read.h"
#include "conformance/directml/node.h"
#include "format/io/errors.h"

namespace dequant::conformance {

using format::escaped;
using format::failure;

namespace {

using directml::NodeTensor;

Result<DML_FEATURE_LEVEL> level_of(const Case& c) {
  if (const auto level = directml::feature_level_from_name(c.version)) return *level;
  return failure(ErrorCode::malformed, "version: \"{}\" is not one of {} to {}", escaped(c.version),
                 directml::feature_levels().front(), directml::feature_levels().back());
}

Result<NodeTensor> tensor_of(const char* name, const CaseTensor& tensor) {
  NodeTensor out;
  DEQUANT_TRY(out.type, tensor_type(name, tensor));
  if (!tensor.strides) return out;
  if (tensor.strides->size() != tensor.shape.size()) {
    return failure(ErrorCode::malformed, "{}: {} strides for a shape of {} dimensions", name,
                   tensor.strides->size(), tensor.shape.size());
  }
  out.strides = *tensor.strides;
  out.stored = static_cast<int64_t>(tensor.bits.size());
  return out;
}

/// Reads the attributes: DEQUANTIZE has one, the other operator none.
Status set_attributes(directml::Node& node, const Case& c) {
  bool given = false;
  for (const auto& [name, value] : c.attributes) {
    if (node.type != DML_OPERATOR_DEQUANTIZE || name != "quantization_type") {
      return no_attribute(name, c.operator_name);
    }
    DEQUANT_TRY(const std::string text, text_attribute(name, value));
    const auto type = directml::quantization_from_name(text);
    if (!type) {
      return failure(ErrorCode::malformed,
                     "attributes.{}: \"{}\" is not NONE, SCALE or SCALE_ZERO_POINT", name,
                     escaped(text));
    }
    node.quantization = *type;
    given = true;
  }
  if (node.type != DML_OPERATOR_DEQUANTIZE || given) return {};
  return failure(ErrorCode::malformed, "attributes: DEQUANTIZE needs quantization_type");
}

}  // namespace

Result<dequant::directml::Operator> compile_directml(const Case& c) {
  DEQUANT_TRY(const DML_FEATURE_LEVEL level, level_of(c));
  const auto type = directml::operator_from_name(c.operator_name);
  if (!type) {
    return failure(ErrorCode::malformed,
                   "operator: \"{}\" is not ELEMENT_WISE_DEQUANTIZE_LINEAR or DEQUANTIZE",
                   escaped(c.operator_name));
  }
  directml::Node node;
  node.type = *type;
  DEQUANT_CHECK(check_inputs(c, {"x", "scale"}, "zero_point"));
  DEQUANT_TRY(node.x, tensor_of("x", c.inputs.at("x")));
  DEQUANT_TRY(node.scale, tensor_of("scale", c.inputs.at("scale")));
  if (const auto zero = c.inputs.find("zero_point"); zero != c.inputs.end()) {
    DEQUANT_TRY(node.zero_point, tensor_of("zero_point", zero->second));
  }
  DEQUANT_CHECK(set_attributes(node, c));
  return directml::compile(node, level);
}

}  // namespace dequant::conformance
