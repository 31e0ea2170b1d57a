// The boundary between C and C++: checks of structs and enumerations of a caller, which may have
// any contents, and of exceptions, which must not reach the caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "dequant.h"
#include "dequant/status.h"
#include "text.h"

namespace dequant::c_api {

/// Bytes of a struct at most in every version: bounds the memory that is read if struct_size is not
/// set.
inline constexpr size_t kMaxStructSize = 4096;

/// The number in a field of an enumeration, read as bytes: C may store any number there, and
/// loading a number beyond the enumeration's values is undefined in C++.
template <class Enum>
int32_t number_of(const Enum& field) noexcept {
  static_assert(sizeof(Enum) == sizeof(int32_t));
  int32_t number = 0;
  std::memcpy(&number, &field, sizeof number);
  return number;
}

/// Checks that a struct that starts with its size can be read as a T. `name` is the name of the C
/// type.
template <class T>
Status check_struct(std::string_view name, const T* given) {
  if (given == nullptr) return invalid(name, ": null");
  const size_t size = given->struct_size;
  if (size < sizeof(T)) {
    return invalid(name, ".struct_size: ", size, " is less than ", sizeof(T), ", that of version ",
                   DEQUANT_VERSION);
  }
  if (size > kMaxStructSize) {
    return invalid(name, ".struct_size: ", size, " is above ", kMaxStructSize,
                   ", which no version of the struct is");
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  const auto* set = std::find_if(bytes + sizeof(T), bytes + size, [](auto b) { return b != 0; });
  if (set == bytes + size) return {};
  return invalid(name, ": byte ", set - bytes, " is set, but version ", DEQUANT_VERSION,
                 " knows only the first ", sizeof(T));
}

/// True for a null pointer, and for an error whose struct_size is right.
bool is_usable(const dequant_error* error) noexcept;

/// Writes code and message to the caller's error, if there is one, and returns the code.
dequant_code report(dequant_error* error, dequant_code code, std::string_view message) noexcept;

/// The number of a code in C.
dequant_code to_c(ErrorCode code) noexcept;

/// The error of the current exception; to be called in a handler. The library throws only for lack
/// of memory.
Error error_in_flight() noexcept;

/// Calls the implementation of a C function, which returns a Status, and reports the outcome.
template <class Work>
dequant_code guarded(dequant_error* error, Work&& work) noexcept {
  if (!is_usable(error)) return DEQUANT_INVALID_ARGUMENT;
  try {
    const Status status = std::forward<Work>(work)();
    if (status) return report(error, DEQUANT_OK, {});
    return report(error, to_c(status.error().code), status.error().message);
  } catch (...) {
    const Error thrown = error_in_flight();
    return report(error, to_c(thrown.code), thrown.message);
  }
}

}  // namespace dequant::c_api
