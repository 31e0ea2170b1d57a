// The dialects whose operator is a DequantizeLinear of x, scale and zero point.
#include <charconv>

#include "conformance/cases/dialects/dialects.h"
#include "conformance/cases/dialects/read.h"
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "dequant/webnn.h"
#include "format/io/errors.h"

namespace dequant::conformance {

using format::escaped;
using format::failure;

namespace {

/// The opset of a node of ai.onnx. An unknown one is an error of the case, not of its node: a case
/// that expects a refusal would pass whatever its node is.
Result<int64_t> known_opset(const Case& c) {
  constexpr int kOldest = onnx::kVersionOpsets.front();
  int64_t number = 0;
  const char* end = c.version.data() + c.version.size();
  const auto [stop, problem] = std::from_chars(c.version.data(), end, number);
  const bool is_number = problem == std::errc() && stop == end;
  if (is_number && number >= kOldest && number <= onnx::kNewestOpset) return number;
  return failure(ErrorCode::malformed, "version: \"{}\": onnx has {} to {}", escaped(c.version),
                 kOldest, onnx::kNewestOpset);
}

/// Fails unless the version is that of a dialect that has only one.
Status check_only_version(const Case& c) {
  if (c.version == "1") return {};
  return failure(ErrorCode::malformed, "version: \"{}\": {} has only 1", escaped(c.version),
                 c.dialect);
}

/// Sets an attribute of the node: an integer, or output_dtype as the name of a type.
template <class Node>
Status set(Node& node, const std::string& name, const CaseAttribute& value) {
  Node copy = node;
  DEQUANT_CHECK(set_attribute(copy, name, 0));  // refuses an unknown name with any value
  if (name == "output_dtype") {
    DEQUANT_TRY(const Element element, element_attribute(name, value));
    return set_attribute(node, name, onnx_code(element));
  }
  DEQUANT_TRY(const int64_t number, integer_attribute(name, value));
  return set_attribute(node, name, number);
}

/// Plans a node of ai.onnx or com.microsoft.
template <class Node>
Result<Plan> plan_linear(const Case& c, Node node) {
  DEQUANT_CHECK(check_inputs(c, {"x", "scale"}, "zero_point"));
  DEQUANT_TRY(node.x, tensor_type("x", c.inputs.at("x")));
  DEQUANT_TRY(node.x_scale, tensor_type("scale", c.inputs.at("scale")));
  if (const auto zero = c.inputs.find("zero_point"); zero != c.inputs.end()) {
    DEQUANT_TRY(node.x_zero_point, tensor_type("zero_point", zero->second));
  }
  for (const auto& [name, value] : c.attributes) DEQUANT_CHECK(set(node, name, value));
  return dequantize_linear(node);
}

}  // namespace

Result<Plan> plan_onnx(const Case& c) {
  onnx::DequantizeLinear node;
  DEQUANT_TRY(node.opset, known_opset(c));
  return plan_linear(c, node);
}

Result<Plan> plan_microsoft(const Case& c) {
  DEQUANT_CHECK(check_only_version(c));
  return plan_linear(c, microsoft::DequantizeLinear());
}

Result<Plan> plan_webnn(const Case& c) {
  DEQUANT_CHECK(check_only_version(c));
  DEQUANT_CHECK(check_inputs(c, {"x", "scale", "zero_point"}));
  webnn::DequantizeLinear node;
  DEQUANT_TRY(node.input, tensor_type("x", c.inputs.at("x")));
  DEQUANT_TRY(node.scale, tensor_type("scale", c.inputs.at("scale")));
  DEQUANT_TRY(node.zero_point, tensor_type("zero_point", c.inputs.at("zero_point")));
  for (const auto& [name, value] : c.attributes) return no_attribute(name, "dequantizeLinear");
  return webnn::dequantize_linear(node);
}

}  // namespace dequant::conformance
