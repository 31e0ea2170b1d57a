// Converting numbers of the output types to float32, which is exact.
#pragma once

#include <cstddef>
#include <span>

#include "dequant/element.h"

namespace dequant::format {

/// Fills `out` with numbers of `element`, which is float32, float16 or bfloat16. `bytes` holds at
/// least out.size() of them, little-endian.
void widen(Element element, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace dequant::format
