// Converting between the output types, float32, float16 and bfloat16, by way of float32.
#pragma once

#include <cstddef>
#include <span>

#include "dequant/element.h"

namespace dequant::format {

/// Fills `out` with numbers of `element`, which is float32, float16 or bfloat16. `bytes` holds at
/// least out.size() of them, little-endian.
void widen(Element element, std::span<const std::byte> bytes, std::span<float> out);

/// Fills `out` with the numbers of `element` that are nearest to these, ties to even; numbers
/// beyond the largest become infinity, and NaN the canonical NaN. `out` has room for as many,
/// little-endian.
void narrow(Element element, std::span<const float> numbers, std::span<std::byte> out);

}  // namespace dequant::format
