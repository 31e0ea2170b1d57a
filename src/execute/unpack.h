// Packed codes as whole bytes of the same value, for places that no kernel can start at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dequant/element.h"

namespace dequant {

/// The element of whole bytes that holds the codes of a packed one after unpack(); itself if it is
/// not packed.
Element unpacked(Element x) noexcept;

/// Reads `count` codes of an element, the first at index i, the others `stride` apart, and writes
/// them one after another as codes of unpacked(x).
void unpack(Element x, const std::byte* data, int64_t i, int64_t stride, int64_t count,
            uint8_t* out) noexcept;

}  // namespace dequant
