// What the dialects share in reading a case: the inputs it must have, attributes of a kind, codes.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "conformance/cases/cases.h"
#include "dequant/status.h"
#include "dequant/tensor.h"
#include "format/io/tensor_data.h"

namespace dequant::conformance {

/// Fails with malformed unless the case has all inputs of those names and no others, but for the
/// optional one.
Status check_inputs(const Case& c, std::initializer_list<std::string_view> required,
                    std::string_view optional = {});

/// The type of a tensor, its shape borrowed. Fails with malformed on a type that is no element.
Result<TensorType> tensor_type(std::string_view what, const CaseTensor& tensor);

/// The value of an attribute. Each fails with malformed on another kind of value.
Result<int64_t> integer_attribute(const std::string& name, const CaseAttribute& value);
Result<bool> boolean_attribute(const std::string& name, const CaseAttribute& value);
Result<std::string> text_attribute(const std::string& name, const CaseAttribute& value);
Result<Element> element_attribute(const std::string& name, const CaseAttribute& value);

/// The error of an attribute that the operator does not have: a refusal, whatever its value.
Error no_attribute(std::string_view name, std::string_view operator_name);

/// The tensor with its codes packed. Fails with malformed when a code does not fit the element, or
/// when the codes are not as many as the shape asks for; with strides they are storage, of any
/// length.
Result<format::TensorData> materialize(std::string_view what, const CaseTensor& tensor,
                                       Element element);

}  // namespace dequant::conformance
