// Codes of small floats as codes of a float of 8 bits that has all their values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "element/traits.h"

namespace dequant {

/// For each code of a float of fewer than 8 bits the float8e4m3fn code of the same value and sign.
/// A function, as gcc makes the table of a variable template a symbol of the shared library.
template <Element kX>
consteval auto float8_of() {
  constexpr FloatFormat narrow = traits(kX).format;
  constexpr FloatFormat wide = traits(Element::float8e4m3fn).format;
  std::array<uint8_t, size_t{1} << narrow.bits> codes{};
  constexpr uint32_t kNone = 0x100;
  for (uint32_t i = 0; i < codes.size(); ++i) {
    uint32_t code = 0;
    const auto same = [&] {
      return code >> 7 == i >> (narrow.bits - 1) &&
             decode_float(wide, code) == decode_float(narrow, i);
    };
    while (code < kNone && !same()) ++code;
    if (code == kNone) throw "float8e4m3fn does not hold this value";  // not at compile time
    codes[i] = static_cast<uint8_t>(code);
  }
  return codes;
}

}  // namespace dequant
