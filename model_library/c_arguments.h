// Checks of what a C program passes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "c_api/boundary.h"
#include "dequant.h"
#include "dequant/model.h"

namespace dequant::model_library {

/// Fails with invalid_argument for a null pointer.
Result<std::string> text_of(std::string_view what, const char* text);

/// Fails with invalid_argument for a null pointer with a count, and for a null text.
Result<std::vector<std::string>> texts_of(std::string_view what, const char* const* texts,
                                          size_t count);
Result<std::vector<ModelOption>> options_of(const dequant_model_option* options, size_t count);

/// None for DEQUANT_NO_ELEMENT; fails with invalid_argument for a number that is no element.
Result<std::optional<Element>> output_of(std::string_view what, const dequant_element& field);

/// The memory of buffers; 0 means the default. Fails with invalid_argument for a negative number.
Result<int64_t> memory_of(int64_t memory);

Status check_threads(int threads);

/// Calls a function of the caller, which may throw if it is C++. Fails with invalid_argument if the
/// function throws, or returns another number than 0.
template <class Call>
Status called(std::string_view what, Call&& call) {
  int returned = 0;
  try {
    returned = call();
  } catch (...) {
    return invalid(what, ": threw an exception");
  }
  if (returned == 0) return {};
  return invalid(what, ": returned ", returned);
}

}  // namespace dequant::model_library
