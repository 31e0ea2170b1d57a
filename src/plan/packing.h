// Where the codes of a Packing lie: words of a row, bytes of a range of codes, and a code by its
// index, which defines every layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "checked.h"
#include "dequant/parameters.h"
#include "dequant/plan.h"

namespace dequant {

inline bool is_packing(const Packing& packing) noexcept {
  return packing.order != CodeOrder::of_element;
}

/// True if the words of a row run down a column of the stored matrix.
inline bool runs_down_columns(const Packing& packing) noexcept {
  return packing.columns != 0 && packing.order < CodeOrder::slabs;
}

inline bool is_slabs(const Packing& packing) noexcept { return packing.order >= CodeOrder::slabs; }

/// Refuses a Packing that breaks a rule of include/dequant/parameters.h. `what` names it.
Status check_packing(const Packing& packing, std::string_view what);

/// The bytes of a tensor of `codes` codes; none if there are too many for 64 bits, or more than the
/// columns or slabs of the packing hold. The packing is checked.
std::optional<int64_t> checked_bytes(const Packing& packing, int64_t codes) noexcept;

// The functions below demand a tensor for which checked_bytes() has a value.

/// Codes and words of the smallest part of a row that begins and ends with a word.
struct Unit {
  int64_t codes;
  int64_t words;
};
constexpr Unit unit_of(const Packing& packing) noexcept {
  switch (packing.order) {
    case CodeOrder::words: return {32 / packing.bits, 1};
    case CodeOrder::interleaved: return {8, 1};
    default: return {32, packing.bits};  // of streams and planes
  }
}

/// Of an order with rows.
constexpr int64_t words_of_row(const Packing& packing) noexcept {
  const Unit unit = unit_of(packing);
  // A stream needs no whole unit at its end.
  const int64_t rest = ceil_div(packing.row % unit.codes * packing.bits, 32);
  return packing.row / unit.codes * unit.words + rest;
}

/// Bytes of a word of slabs.
constexpr int64_t slab_word_bytes(const Packing& packing) noexcept {
  return 8 % packing.bits == 0 ? 1 : 4;
}

/// The largest index up to `code` at which a slice may begin.
int64_t slice_begin(const Packing& packing, int64_t code) noexcept;

/// The bytes that hold a range of codes, which begins where slice_begin() does.
Range bytes_of(const Packing& packing, Range codes) noexcept;

/// The code of an index, zero-extended. `data` has the tensor's bytes from `first_byte` on. The
/// definition of every layout, and slow.
uint32_t packed_code(const Packing& packing, const std::byte* data, int64_t first_byte,
                     int64_t i) noexcept;

}  // namespace dequant
