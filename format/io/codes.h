// One code among packed data, read and written by its index; and codes under 8 bits, a byte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/element.h"

namespace dequant::format {

/// The code of element `index`: an unsigned number of bits(element) bits. `packed` must hold it.
uint32_t load_code(Element element, std::span<const std::byte> packed, int64_t index);

/// Writes the low bits(element) bits of `code`; its neighbours in the same byte keep theirs.
void store_code(Element element, std::span<std::byte> packed, int64_t index, uint32_t code);

/// Spreads the first bytes.size() elements of `packed`, of an element under 8 bits, over a byte
/// each: int4 and int2 as int8 values, everything else as codes. `packed` must hold them. Data may
/// be spread in pieces, as long as each piece starts on a byte.
void unpack_to_bytes(Element element, std::span<const std::byte> packed,
                     std::span<std::byte> bytes);

}  // namespace dequant::format
