// Every unknown key and every wrong type of value is an error.
#include "conformance/cases/dialects/read.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "conformance/cases/compare.h"
#include "dequant/codes.h"
#include "format/io/errors.h"

namespace dequant::conformance {

using format::escaped;
using format::failure;
using format::TensorData;

namespace {

Error wrong_kind(std::string_view name, std::string_view wanted) {
  return failure(ErrorCode::malformed, "attributes.{}: not {}", escaped(name), wanted);
}

/// The number of codes that a tensor must have.
Result<int64_t> code_count(std::string_view what, const CaseTensor& tensor) {
  const auto held = static_cast<int64_t>(tensor.bits.size());
  if (tensor.strides) return held;
  auto count = element_count(tensor.shape);
  if (!count) return failure(ErrorCode::malformed, "{}: {}", what, count.error().message);
  if (*count == held) return held;
  return failure(ErrorCode::malformed, "{}: {} codes for the {} elements of {}", what, held, *count,
                 describe_index(tensor.shape));
}

}  // namespace

Status check_inputs(const Case& c, std::initializer_list<std::string_view> required,
                    std::string_view optional) {
  std::vector<std::string_view> known(required);
  if (!optional.empty()) known.push_back(optional);
  for (const auto& [name, tensor] : c.inputs) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return failure(ErrorCode::malformed, "inputs.{}: the dialect has {}", escaped(name),
                     fmt::join(known, ", "));
    }
  }
  for (const std::string_view name : required) {
    if (c.inputs.find(std::string(name)) == c.inputs.end()) {
      return failure(ErrorCode::malformed, "inputs: there is no {}", name);
    }
  }
  return {};
}

Result<TensorType> tensor_type(std::string_view what, const CaseTensor& tensor) {
  const auto element = element_from_name(tensor.type);
  if (element) return TensorType{*element, tensor.shape};
  return failure(ErrorCode::malformed, "{}: type \"{}\" is not an element type of this dialect",
                 what, escaped(tensor.type));
}

Result<int64_t> integer_attribute(const std::string& name, const CaseAttribute& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  return wrong_kind(name, "an integer");
}

Result<bool> boolean_attribute(const std::string& name, const CaseAttribute& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  return wrong_kind(name, "true or false");
}

Result<std::string> text_attribute(const std::string& name, const CaseAttribute& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return wrong_kind(name, "a string");
}

Result<Element> element_attribute(const std::string& name, const CaseAttribute& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto element = text == nullptr ? std::nullopt : element_from_name(*text);
  if (element) return *element;
  return wrong_kind(name, "the name of an element type");
}

Error no_attribute(std::string_view name, std::string_view operator_name) {
  return failure(ErrorCode::invalid_argument, "{}: {} has no such attribute", escaped(name),
                 operator_name);
}

Result<TensorData> materialize(std::string_view what, const CaseTensor& tensor, Element element) {
  DEQUANT_TRY(const int64_t count, code_count(what, tensor));
  const auto size = packed_bytes(element, count);
  if (!size) return failure(ErrorCode::malformed, "{}: {}", what, size.error().message);
  TensorData data{element, tensor.shape, std::vector<std::byte>(static_cast<size_t>(*size))};
  for (size_t i = 0; i < tensor.bits.size(); ++i) {
    if ((tensor.bits[i] >> bits(element)) != 0) {
      return failure(ErrorCode::malformed, "{}: bits[{}]: {} is no code of {}", what, i,
                     tensor.bits[i], name(element));
    }
    store_code(element, data.bytes, static_cast<int64_t>(i), static_cast<uint32_t>(tensor.bits[i]));
  }
  return data;
}

}  // namespace dequant::conformance
