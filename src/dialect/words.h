// Codes in words of 32 bits, one stream of bits for each row.
#pragma once

#include <cstdint>
#include <optional>

#include "checked.h"
#include "dequant/plan.h"

namespace dequant {

/// The words that a row of codes fills; nothing where the bits do not fit in 64 bits. Demands that
/// codes are not negative.
inline std::optional<int64_t> words_of_stream(int64_t codes, int64_t bits) noexcept {
  const auto all = checked_mul(codes, bits);
  return all ? std::optional(ceil_div(*all, 32)) : std::nullopt;
}

/// Sets how a plan reads unsigned codes of 1 to 8 bits in rows of `row` codes, whose words follow
/// one another: as elements where codes fill their words, or else by a Packing.
inline void set_stream(Plan& plan, int64_t bits, int64_t row) noexcept {
  const bool whole = 32 % bits == 0 && row % (32 / bits) == 0 && bits != 1;
  plan.input = !whole || bits == 8 ? Element::uint8 : bits == 4 ? Element::uint4 : Element::uint2;
  if (!whole) plan.parameters.x_packing = {CodeOrder::stream, static_cast<int32_t>(bits), row, 0};
}

}  // namespace dequant
