// Conversions between elements of C and of C++.
#pragma once

#include <optional>

#include "dequant.h"
#include "dequant/element.h"

namespace dequant::c_api {

/// The element of that number; none for DEQUANT_NO_ELEMENT and for numbers that are no element.
std::optional<Element> to_element(const dequant_element& field) noexcept;

dequant_element to_c(Element element) noexcept;

}  // namespace dequant::c_api
