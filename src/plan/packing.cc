// Checks and arithmetic of layouts.
#include "plan/packing.h"

#include <algorithm>
#include <cstring>

#include "checked.h"
#include "text.h"

namespace dequant {
namespace {

constexpr int64_t kWordBits = 32;
constexpr int64_t kWordBytes = 4;
/// Codes of a unit of streams and planes: as many words as a code has bits.
constexpr int64_t kUnitCodes = 32;
/// Where slices of high_first may begin.
constexpr int64_t kSliceStep = 8;

bool has_rows(const Packing& p) { return p.order != CodeOrder::high_first && !is_slabs(p); }

bool allows_bits(const Packing& p) {
  switch (p.order) {
    case CodeOrder::high_first:
    case CodeOrder::interleaved: return p.bits == 4;
    case CodeOrder::planes: return p.bits == 3 || (p.bits >= 5 && p.bits <= 7);
    default: return p.bits >= 1 && p.bits <= 8;
  }
}

/// Codes of a word of slabs.
int64_t codes_of_slab_word(const Packing& p) { return slab_word_bytes(p) * 8 / p.bits; }

/// Bits of word `word` of row `row`, or of a slab; `bytes` of them are stored.
uint32_t load_word(const std::byte* data, int64_t at, int64_t bytes) {
  uint32_t word = 0;
  std::memcpy(&word, data + at, static_cast<size_t>(bytes));
  return word;
}

/// The bits of a row, word by word.
class Row {
 public:
  Row(const Packing& p, const std::byte* data, int64_t first_byte, int64_t row)
      : p_(p), data_(data), first_byte_(first_byte), row_(row) {}

  uint32_t word(int64_t j) const {
    const int64_t number = p_.columns == 0 ? row_ * words_of_row(p_) + j : j * p_.columns + row_;
    return load_word(data_, number * kWordBytes - first_byte_, kWordBytes);
  }

  /// `count` bits from bit `at` of the row on, which may lie in two words.
  uint32_t bits(int64_t at, int count) const {
    uint64_t both = word(at / kWordBits);
    if (at % kWordBits + count > kWordBits) both |= uint64_t{word(at / kWordBits + 1)} << kWordBits;
    return static_cast<uint32_t>(both >> (at % kWordBits)) & ((uint32_t{1} << count) - 1);
  }

 private:
  const Packing& p_;
  const std::byte* data_;
  int64_t first_byte_;
  int64_t row_;
};

/// Code k of a row of planes.
uint32_t code_of_planes(const Row& row, int bits, int64_t k) {
  int64_t at = k / kUnitCodes * bits * kWordBits;
  uint32_t code = 0;
  int done = 0;
  for (const int plane : {4, 2, 1}) {
    if ((bits & plane) == 0) continue;
    code |= row.bits(at + k % kUnitCodes * plane, plane) << done;
    at += kUnitCodes * plane;
    done += plane;
  }
  return code;
}

uint32_t code_of_row(const Packing& p, const Row& row, int64_t k) {
  const int64_t in_word = kWordBits / p.bits;
  switch (p.order) {
    case CodeOrder::words: return row.bits(k / in_word * kWordBits + k % in_word * p.bits, p.bits);
    case CodeOrder::interleaved: return row.bits(k / 8 * kWordBits + k % 2 * 16 + k % 8 / 2 * 4, 4);
    case CodeOrder::planes: return code_of_planes(row, p.bits, k);
    default: return row.bits(k * p.bits, p.bits);
  }
}

}  // namespace

Status check_packing(const Packing& p, std::string_view what) {
  if (p == Packing{}) return {};
  if (p.order == CodeOrder::of_element || p.order > CodeOrder::slabs_high_first) {
    return invalid(what, ".order: ", static_cast<int>(p.order), " has no bits, rows and columns");
  }
  if (!allows_bits(p)) return invalid(what, ".bits: no codes of ", p.bits, " bits in this order");
  if (has_rows(p) ? p.row < 1 : p.row != 0) {
    return invalid(what, ".row: ", p.row, has_rows(p) ? " codes are none" : " in an order without");
  }
  if (p.order == CodeOrder::planes && p.row % kUnitCodes != 0) {
    return invalid(what, ".row: planes have rows of a multiple of 32 codes, not of ", p.row);
  }
  const bool takes_columns = p.order != CodeOrder::high_first;
  if (p.columns < 0 || (p.columns != 0 && !takes_columns) || (p.columns == 0 && is_slabs(p))) {
    return invalid(what, ".columns: ", p.columns, " in this order");
  }
  if (p.row > INT64_MAX / kWordBits) return invalid(what, ".row: ", p.row, " codes are too many");
  return {};
}

std::optional<int64_t> checked_bytes(const Packing& p, int64_t codes) noexcept {
  if (codes < 0) return std::nullopt;
  if (p.order == CodeOrder::high_first) return dequant::checked_bytes(4, codes);
  if (is_slabs(p)) {
    const auto room = checked_mul(p.columns, codes_of_slab_word(p));
    if (!room || codes > *room) return std::nullopt;
    return checked_mul(std::min(codes, p.columns), slab_word_bytes(p));
  }
  const int64_t rows = ceil_div(codes, p.row);
  if (p.columns != 0 && rows > p.columns) return std::nullopt;
  const auto words = checked_mul(words_of_row(p), p.columns == 0 ? rows : p.columns);
  return words ? checked_mul(*words, kWordBytes) : std::nullopt;
}

int64_t slice_begin(const Packing& p, int64_t code) noexcept {
  if (runs_down_columns(p)) return 0;
  if (is_slabs(p)) return code;
  if (p.order == CodeOrder::high_first) return code / kSliceStep * kSliceStep;
  const int64_t within = code % p.row;
  return code - within % unit_of(p).codes;
}

Range bytes_of(const Packing& p, Range codes) noexcept {
  if (codes.begin >= codes.end) return {};
  const int64_t last = codes.end - 1;
  if (p.order == CodeOrder::high_first) return {codes.begin / 2, last / 2 + 1};
  if (is_slabs(p)) {
    const int64_t size = slab_word_bytes(p);
    const bool one_slab = codes.begin / p.columns == last / p.columns;
    if (!one_slab) return {0, p.columns * size};
    return {codes.begin % p.columns * size, (last % p.columns + 1) * size};
  }
  const int64_t words = words_of_row(p);
  if (p.columns != 0) return {0, words * p.columns * kWordBytes};
  const Unit unit = unit_of(p);
  const auto word = [&](int64_t code) { return code % p.row / unit.codes * unit.words; };
  const int64_t begin = codes.begin / p.row * words + word(codes.begin);
  const int64_t end = last / p.row * words + std::min(words, word(last) + unit.words);
  return {begin * kWordBytes, end * kWordBytes};
}

uint32_t packed_code(const Packing& p, const std::byte* data, int64_t first_byte,
                     int64_t i) noexcept {
  if (p.order == CodeOrder::high_first) {
    const auto byte = static_cast<uint32_t>(data[i / 2 - first_byte]);
    return i % 2 == 0 ? byte >> 4 : byte & 15;
  }
  if (is_slabs(p)) {
    const int64_t size = slab_word_bytes(p);
    const uint32_t word = load_word(data, i % p.columns * size - first_byte, size);
    const int64_t slab = i / p.columns;
    const int64_t field = p.order == CodeOrder::slabs ? slab : codes_of_slab_word(p) - 1 - slab;
    return word >> (field * p.bits) & ((uint32_t{1} << p.bits) - 1);
  }
  return code_of_row(p, Row(p, data, first_byte, i / p.row), i % p.row);
}

}  // namespace dequant
