// Reading inputs, attributes and codes of a case, for all dialects.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "conformance/cases/cases.h"
#include "dequant/status.h"
#include "dequant/tensor.h"
#include "format/io/tensor_data.h"

namespace dequant::conformance {

/// Fails with malformed unless the case has all required inputs and no others but the optional one.
Status check_inputs(const Case& c, std::initializer_list<std::string_view> required,
                    std::string_view optional = {});

/// The type of a tensor; its shape refers to that of `tensor`. Fails with malformed on a type that
/// is no element.
Result<TensorType> tensor_type(std::string_view what, const CaseTensor& tensor);

/// The value of an attribute. Each function fails with malformed on another type of value.
Result<int64_t> integer_attribute(const std::string& name, const CaseAttribute& value);
Result<bool> boolean_attribute(const std::string& name, const CaseAttribute& value);
Result<std::string> text_attribute(const std::string& name, const CaseAttribute& value);
Result<Element> element_attribute(const std::string& name, const CaseAttribute& value);

/// The error for an attribute that the operator does not have: it refuses the node.
Error no_attribute(std::string_view name, std::string_view operator_name);

/// The tensor with packed codes. Fails with malformed when a code has more bits than the element,
/// or when there are more or fewer codes than the shape needs. With strides the codes are storage
/// of any length.
Result<format::TensorData> materialize(std::string_view what, const CaseTensor& tensor,
                                       Element element);

}  // namespace dequant::conformance
