// Building sentences for errors without a formatting library.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant {

template <class T>
void append_text(std::string& out, const T& part) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out += std::string_view(part);
  } else {
    out += std::to_string(part);
  }
}

/// The parts one after another: text as it is, numbers in decimal.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

// Cold: what fails may take its time, and shall not make what succeeds longer.
template <class... Parts>
[[gnu::cold, gnu::noinline]] Error invalid(const Parts&... parts) {
  return Error{ErrorCode::invalid_argument, concat(parts...)};
}

/// "[2, 3]".
inline std::string to_string(Shape shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += concat(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

}  // namespace dequant
