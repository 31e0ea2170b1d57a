// Dequantize of TensorFlow: ranges in place of scales, types by TensorFlow's names.
#include "dequant/tensorflow.h"

#include "conformance/cases/dialects/dialects.h"
#include "conformance/cases/dialects/read.h"
#include "format/io/errors.h"

namespace dequant::conformance {

using format::escaped;
using format::failure;

namespace {

namespace tf = dequant::tensorflow;

Result<tf::Version> version_of(const Case& c) {
  if (c.version == "1.4") return tf::Version::r1_4;
  if (c.version == "2") return tf::Version::r2;
  return failure(ErrorCode::malformed, "version: \"{}\": tensorflow has \"1.4\" and \"2\"",
                 escaped(c.version));
}

/// The type of x by TensorFlow's name: TensorFlow dequantizes quint8, but not uint8.
Result<TensorType> type_of(std::string_view what, const CaseTensor& tensor) {
  if (const auto element = tf::element_from_name(tensor.type)) {
    return TensorType{*element, tensor.shape};
  }
  DEQUANT_TRY(const TensorType type, tensor_type(what, tensor));
  if (tf::name(type.element) == name(type.element)) return type;
  return failure(ErrorCode::invalid_argument, "{}: {} is not a quantized type; {} is", what,
                 tensor.type, tf::name(type.element));
}

Result<tf::Mode> mode_of(const std::string& text) {
  if (const auto mode = tf::mode_from_name(text)) return *mode;
  return failure(ErrorCode::malformed,
                 "attributes.mode: \"{}\" is not MIN_COMBINED, MIN_FIRST or SCALED", escaped(text));
}

Result<tf::Semantics> semantics_of(const std::string& text) {
  if (text == "kernel") return tf::Semantics::kernel;
  if (text == "documented") return tf::Semantics::documented;
  return failure(ErrorCode::malformed, "attributes.semantics: \"{}\" is not kernel or documented",
                 escaped(text));
}

Status set(tf::Dequantize& node, const std::string& name, const CaseAttribute& value) {
  if (name == "mode") {
    DEQUANT_TRY(const std::string text, text_attribute(name, value));
    DEQUANT_TRY(node.mode, mode_of(text));
  } else if (name == "semantics") {
    DEQUANT_TRY(const std::string text, text_attribute(name, value));
    DEQUANT_TRY(node.semantics, semantics_of(text));
  } else if (name == "narrow_range") {
    DEQUANT_TRY(node.narrow_range, boolean_attribute(name, value));
  } else if (name == "axis") {
    DEQUANT_TRY(const int64_t axis, integer_attribute(name, value));
    node.axis = tf::RawAxis{axis};
  } else if (name == "dtype") {
    DEQUANT_TRY(node.dtype, element_attribute(name, value));
  } else {
    return no_attribute(name, "Dequantize");
  }
  return {};
}

}  // namespace

Result<Plan> plan_tensorflow(const Case& c) {
  tf::Dequantize node;
  DEQUANT_TRY(node.version, version_of(c));
  DEQUANT_CHECK(check_inputs(c, {"x", "min_range", "max_range"}));
  DEQUANT_TRY(node.input, type_of("x", c.inputs.at("x")));
  DEQUANT_TRY(node.min_range, type_of("min_range", c.inputs.at("min_range")));
  DEQUANT_TRY(node.max_range, type_of("max_range", c.inputs.at("max_range")));
  for (const auto& [name, value] : c.attributes) DEQUANT_CHECK(set(node, name, value));
  return tf::dequantize(node);
}

}  // namespace dequant::conformance
