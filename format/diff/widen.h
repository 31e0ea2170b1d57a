// Numbers of the output types as float32, which holds all of them exactly.
#pragma once

#include <cstddef>
#include <span>

#include "dequant/element.h"

namespace dequant::format {

/// Little-endian bytes of float32, float16 or bfloat16 as numbers: out.size() of them, which
/// `bytes` holds.
void widen(Element element, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace dequant::format
