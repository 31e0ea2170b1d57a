// Codes of a Packing, row by row: unit by unit by a helper, codes before the first whole unit one
// by one. Words that run down a column are copied next to each other first.
#include "execute/packed_codes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "execute/unpack.h"
#include "plan/packing.h"

namespace dequant {
namespace {

constexpr int64_t kWordBytes = 4;
/// Units whose words are copied at once.
constexpr int64_t kUnits = 8;
constexpr int64_t kMostUnitWords = 8;

/// From zero-extended codes of so many bits to two's complement of eight.
void extend_signs(uint8_t* codes, int64_t count, int bits) {
  const auto sign = static_cast<uint8_t>(1 << (bits - 1));
  for (int64_t k = 0; k < count; ++k) {
    codes[k] = static_cast<uint8_t>((codes[k] ^ sign) - sign);
  }
}

/// Codes from the start of one code at which a helper may begin to the start of the next.
int64_t aligned_codes(const Packing& p) {
  switch (p.order) {
    case CodeOrder::high_first: return 2;
    case CodeOrder::stream: return 8;
    default: return unit_of(p).codes;
  }
}

}  // namespace

bool unpacks_codes(const Plan& plan) noexcept {
  const Parameters& p = plan.parameters;
  return is_packing(p.x_packing) || (p.codebook && bits(plan.input) < 8);
}

void PackedCodes::unpack(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept {
  if (!is_packing(packing_)) return dequant::unpack(element_, data_, i, stride, count, out);
  unpack_codes(i, stride, count, out);
  if (kind(element_) == Kind::signed_integer) extend_signs(out, count, packing_.bits);
}

void PackedCodes::unpack_codes(int64_t i, int64_t stride, int64_t count,
                               uint8_t* out) const noexcept {
  if (stride != 1) return unpack_each(i, stride, count, out);
  is_slabs(packing_) ? unpack_slabs(i, count, out) : unpack_rows(i, count, out);
}

void PackedCodes::unpack_each(int64_t i, int64_t stride, int64_t count,
                              uint8_t* out) const noexcept {
  for (int64_t k = 0; k < count; ++k) {
    out[k] = static_cast<uint8_t>(packed_code(packing_, data_, first_byte_, i + k * stride));
  }
}

void PackedCodes::unpack_slabs(int64_t i, int64_t count, uint8_t* out) const noexcept {
  const int64_t size = slab_word_bytes(packing_);
  const auto of_word = static_cast<int>(size * 8 / packing_.bits);
  const auto fields = size == 1 ? helpers_.fields_of_bytes : helpers_.fields_of_words;
  while (count > 0) {
    const auto slab = static_cast<int>(i / packing_.columns);
    const int64_t word = i % packing_.columns;
    const int64_t n = std::min(count, packing_.columns - word);
    const int field = packing_.order == CodeOrder::slabs ? slab : of_word - 1 - slab;
    fields({byte(word * size), static_cast<size_t>(n), field * packing_.bits, packing_.bits, out});
    i += n;
    out += n;
    count -= n;
  }
}

void PackedCodes::unpack_rows(int64_t i, int64_t count, uint8_t* out) const noexcept {
  if (packing_.order == CodeOrder::high_first) return unpack_row(0, i, count, out);
  while (count > 0) {
    const int64_t k = i % packing_.row;
    const int64_t n = std::min(count, packing_.row - k);
    unpack_row(i / packing_.row, k, n, out);
    i += n;
    out += n;
    count -= n;
  }
}

/// Codes from number k of a row on.
void PackedCodes::unpack_row(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept {
  const int64_t aligned =
      runs_down_columns(packing_) ? unit_of(packing_).codes : aligned_codes(packing_);
  const int64_t head = std::min((aligned - k % aligned) % aligned, count);
  if (head > 0) unpack_each(row * packing_.row + k, 1, head, out);
  if (head < count) unpack_units(row, k + head, count - head, out + head);
}

/// The same, where a helper may begin at code k.
void PackedCodes::unpack_units(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept {
  const UnpackFn helper = unpacker();
  if (packing_.order == CodeOrder::high_first) {
    return helper(byte(k / 2), static_cast<size_t>(count), out);
  }
  const Unit unit = unit_of(packing_);
  const int64_t words = words_of_row(packing_);
  if (!runs_down_columns(packing_)) {
    // Only streams begin within a unit.
    const int64_t within = k % unit.codes * packing_.bits / 8;
    const int64_t at = (row * words + k / unit.codes * unit.words) * kWordBytes + within;
    return helper(byte(at), static_cast<size_t>(count), out);
  }
  std::array<uint8_t, kUnits * kMostUnitWords * kWordBytes> copied;
  for (int64_t done = 0; done < count;) {
    const int64_t n = std::min(kUnits * unit.codes, count - done);
    const int64_t first = (k + done) / unit.codes * unit.words;
    const int64_t last = (k + done + n - 1) / unit.codes * unit.words + unit.words;
    const int64_t end = std::min(last, words);
    for (int64_t j = first; j < end; ++j) {
      std::memcpy(copied.data() + (j - first) * kWordBytes,
                  byte((j * packing_.columns + row) * kWordBytes), kWordBytes);
    }
    helper(copied.data(), static_cast<size_t>(n), out + done);
    done += n;
  }
}

UnpackFn PackedCodes::unpacker() const noexcept {
  const auto bits = static_cast<size_t>(packing_.bits);
  switch (packing_.order) {
    case CodeOrder::words: return helpers_.unpack_words[bits];
    case CodeOrder::planes: return helpers_.unpack_planes[bits];
    case CodeOrder::interleaved: return helpers_.unpack_interleaved;
    case CodeOrder::high_first: return helpers_.unpack_high_first;
    default: return helpers_.unpack_stream[bits];
  }
}

}  // namespace dequant
