// Packed codes unpacked to bytes of the same value: kernels start on bytes only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dequant/element.h"

namespace dequant {

/// The element of 8 bits that has all values of a packed element; x itself if x is not packed.
Element unpacked(Element x) noexcept;

/// Reads the `count` codes at the indices i, i + stride, i + 2 * stride, ... and writes them to
/// `out`, contiguous, as codes of unpacked(x).
void unpack(Element x, const std::byte* data, int64_t i, int64_t stride, int64_t count,
            uint8_t* out) noexcept;

}  // namespace dequant
