// Codes of a Packing, row by row: unit by unit by a helper, codes before the first whole unit one
// by one. Words that run down a column are copied next to each other first.
#include "execute/packed_codes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "checked.h"
#include "execute/unpack.h"
#include "plan/packing.h"

namespace dequant {
namespace {

constexpr int64_t kWordBytes = 4;
constexpr int64_t kWordBits = 32;
/// Units whose words are copied at once.
constexpr int64_t kUnits = 8;
constexpr int64_t kMostUnitWords = 8;
/// Lines between one that is prefetched and one that is unpacked, where lines are far apart.
constexpr int64_t kLinesAhead = 8;

/// From zero-extended codes of so many bits to two's complement of eight.
void extend_signs(uint8_t* codes, int64_t count, int bits) {
  const auto sign = static_cast<uint8_t>(1 << (bits - 1));
  for (int64_t k = 0; k < count; ++k) {
    codes[k] = static_cast<uint8_t>((codes[k] ^ sign) - sign);
  }
}

/// Codes from one at which a helper may begin to the next.
int64_t aligned_codes(const Packing& p) {
  if (p.order == CodeOrder::high_first) return 2;
  const bool bytes = p.order == CodeOrder::stream && !runs_down_columns(p);
  return bytes ? 8 : unit_of(p).codes;
}

}  // namespace

bool unpacks_codes(const Plan& plan) noexcept {
  const Parameters& p = plan.parameters;
  return is_packing(p.x_packing) || (p.codebook && bits(plan.input) < 8);
}

void PackedCodes::unpack(int64_t i, int64_t stride, int64_t count, uint8_t* out) const noexcept {
  if (!is_packing(packing_)) {
    if (stride == 1 && unpack_streams(i, count, 1, count, out)) return;
    return dequant::unpack(element_, data_.data(), i, stride, count, out);
  }
  unpack_codes(i, stride, count, out);
  if (kind(element_) == Kind::signed_integer) extend_signs(out, count, packing_.bits);
}

/// unpack_lines() of codes without a Packing; false where there is no helper for them.
bool PackedCodes::unpack_streams(int64_t i, int64_t stride, int64_t lines, int64_t count,
                                 uint8_t* out) const noexcept {
  if (element_ != Element::float4e2m1 || i % 2 != 0 || (lines > 1 && stride % 2 != 0)) return false;
  const auto* data = reinterpret_cast<const uint8_t*>(data_.data());
  for (int64_t k = 0; k < lines; ++k) {
    const int64_t byte = (i + k * stride) / 2;
    if (k + kLinesAhead < lines) __builtin_prefetch(data + byte + kLinesAhead * stride / 2);
    table_.helpers.unpack_float4(data + byte, data_.size() - static_cast<size_t>(byte),
                                 static_cast<size_t>(count), out + k * count);
  }
  return true;
}

/// True if one call of a helper unpacks a line.
bool PackedCodes::lines_are_units(int64_t i, int64_t stride, int64_t count) const noexcept {
  if (packing_.row == 0 || runs_down_columns(packing_) || stride % packing_.row != 0) return false;
  const int64_t k = i % packing_.row;
  return k % aligned_codes(packing_) == 0 && k + count <= packing_.row;
}

bool PackedCodes::are_pairs(int64_t i, int64_t stride, int64_t count) const noexcept {
  return packing_.bits == 4 && kind(element_) == Kind::unsigned_integer &&
         count % unit_of(packing_).codes == 0 && lines_are_units(i, stride, count);
}

void PackedCodes::unpack_lines(int64_t i, int64_t stride, int64_t lines, int64_t count,
                               uint8_t* out) const noexcept {
  if (!is_packing(packing_) && unpack_streams(i, stride, lines, count, out)) return;
  if (!lines_are_units(i, stride, count)) {
    for (int64_t k = 0; k < lines; ++k) unpack(i + k * stride, 1, count, out + k * count);
    return;
  }
  const int64_t first = byte_of(i / packing_.row, i % packing_.row);
  const int64_t line = stride / packing_.row * words_of_row(packing_) * kWordBytes;
  const UnpackFn helper = unpacker();
  const auto readable = static_cast<int64_t>(data_.size()) - (first - first_byte_);
  for (int64_t k = 0; k < lines; ++k) {
    helper(at_byte(first + k * line), static_cast<size_t>(readable - k * line),
           static_cast<size_t>(count), out + k * count);
  }
  if (kind(element_) == Kind::signed_integer) extend_signs(out, lines * count, packing_.bits);
}

void PackedCodes::unpack_codes(int64_t i, int64_t stride, int64_t count,
                               uint8_t* out) const noexcept {
  if (stride == 1) {
    is_slabs(packing_) ? unpack_slabs(i, count, out) : unpack_rows(i, count, out);
  } else if (runs_down_columns(packing_) && stride == packing_.row) {
    unpack_across(i, count, out);
  } else {
    unpack_each(i, stride, count, out);
  }
}

void PackedCodes::unpack_each(int64_t i, int64_t stride, int64_t count,
                              uint8_t* out) const noexcept {
  for (int64_t k = 0; k < count; ++k) {
    out[k] = static_cast<uint8_t>(packed_code(packing_, data_.data(), first_byte_, i + k * stride));
  }
}

/// The same code of neighbouring rows, whose words are neighbours where words run down columns.
void PackedCodes::unpack_across(int64_t i, int64_t count, uint8_t* out) const noexcept {
  const int64_t bit = i % packing_.row * packing_.bits;
  const bool one_word = bit % kWordBits + packing_.bits <= kWordBits;
  if (packing_.order != CodeOrder::stream || !one_word) {
    return unpack_each(i, packing_.row, count, out);
  }
  const int64_t word = bit / kWordBits * packing_.columns + i / packing_.row;
  table_.helpers.fields_of_words({at_byte(word * kWordBytes), static_cast<size_t>(count),
                                  static_cast<int>(bit % kWordBits), packing_.bits, out});
}

void PackedCodes::unpack_slabs(int64_t i, int64_t count, uint8_t* out) const noexcept {
  const int64_t size = slab_word_bytes(packing_);
  const auto of_word = static_cast<int>(size * 8 / packing_.bits);
  const Helpers& helpers = table_.helpers;
  const auto fields = size == 1 ? helpers.fields_of_bytes : helpers.fields_of_words;
  while (count > 0) {
    const auto slab = static_cast<int>(i / packing_.columns);
    const int64_t word = i % packing_.columns;
    const int64_t n = std::min(count, packing_.columns - word);
    const int field = packing_.order == CodeOrder::slabs ? slab : of_word - 1 - slab;
    fields(
        {at_byte(word * size), static_cast<size_t>(n), field * packing_.bits, packing_.bits, out});
    i += n;
    out += n;
    count -= n;
  }
}

void PackedCodes::unpack_rows(int64_t i, int64_t count, uint8_t* out) const noexcept {
  if (packing_.order == CodeOrder::high_first) return unpack_row(0, i, count, out);
  while (count > 0) {
    const int64_t row = i / packing_.row;
    const int64_t k = i - row * packing_.row;
    const int64_t n = std::min(count, packing_.row - k);
    unpack_row(row, k, n, out);
    i += n;
    out += n;
    count -= n;
  }
}

/// Codes from number k of a row on.
void PackedCodes::unpack_row(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept {
  const int64_t aligned = aligned_codes(packing_);
  const int64_t past = k % aligned;
  const int64_t head = past == 0 ? 0 : std::min(aligned - past, count);
  if (head > 0) unpack_each(row * packing_.row + k, 1, head, out);
  if (head < count) unpack_units(row, k + head, count - head, out + head);
}

/// The same, where a helper may begin at code k.
void PackedCodes::unpack_units(int64_t row, int64_t k, int64_t count, uint8_t* out) const noexcept {
  if (packing_.order == CodeOrder::high_first) return call_unpacker(k / 2, count, out);
  if (runs_down_columns(packing_)) return unpack_column(row, k, count, out);
  call_unpacker(byte_of(row, k), count, out);
}

/// The byte where code k of a row starts, where a helper may begin.
int64_t PackedCodes::byte_of(int64_t row, int64_t k) const noexcept {
  const Unit unit = unit_of(packing_);
  // Only streams begin within a unit.
  const int64_t within = k % unit.codes * packing_.bits / 8;
  const int64_t word = row * words_of_row(packing_) + k / unit.codes * unit.words;
  return word * kWordBytes + within;
}

void PackedCodes::unpack_column(int64_t row, int64_t k, int64_t count,
                                uint8_t* out) const noexcept {
  const Unit unit = unit_of(packing_);
  const int64_t words = words_of_row(packing_);
  std::array<uint8_t, kUnits * kMostUnitWords * kWordBytes> copied{};
  for (int64_t done = 0; done < count;) {
    const int64_t n = std::min(kUnits * unit.codes, count - done);
    const int64_t first = (k + done) / unit.codes * unit.words;
    const int64_t end = std::min(first + ceil_div(n, unit.codes) * unit.words, words);
    for (int64_t j = first; j < end; ++j) {
      std::memcpy(copied.data() + (j - first) * kWordBytes,
                  at_byte((j * packing_.columns + row) * kWordBytes), kWordBytes);
    }
    unpacker()(copied.data(), copied.size(), static_cast<size_t>(n), out + done);
    done += n;
  }
}

void PackedCodes::call_unpacker(int64_t byte, int64_t count, uint8_t* out) const noexcept {
  const auto readable = data_.size() - static_cast<size_t>(byte - first_byte_);
  unpacker()(at_byte(byte), readable, static_cast<size_t>(count), out);
}

UnpackFn PackedCodes::unpacker() const noexcept {
  const Helpers& helpers = table_.helpers;
  const auto bits = static_cast<size_t>(packing_.bits);
  switch (packing_.order) {
    case CodeOrder::words: return helpers.unpack_words[bits];
    case CodeOrder::planes: return helpers.unpack_planes[bits];
    case CodeOrder::interleaved: return helpers.unpack_interleaved;
    case CodeOrder::high_first: return helpers.unpack_high_first;
    default: return helpers.unpack_stream[bits];
  }
}

int64_t PackedCodes::most_rows(int64_t count) const noexcept {
  const Unit unit = unit_of(packing_);
  // Up to a unit more, which the first code may not start.
  const int64_t units = ceil_div(count + unit.codes - 1, unit.codes);
  const int64_t rows = std::min(kMatrixCodes / (count + unit.codes - 1),
                                kMatrixCodes / (units * unit.words * kWordBytes));
  return std::max<int64_t>(rows, 1);
}

int64_t PackedCodes::unpack_matrix(int64_t i, int64_t rows, int64_t count, uint8_t* out,
                                   uint8_t* words) const noexcept {
  const Unit unit = unit_of(packing_);
  const int64_t k = i % packing_.row;
  const int64_t lead = k % unit.codes;
  const int64_t first = k / unit.codes * unit.words;
  const int64_t units = ceil_div(lead + count, unit.codes);
  const int64_t n = std::min(units * unit.words, words_of_row(packing_) - first);
  const int64_t row_bytes = n * kWordBytes;
  const int64_t codes = lead + count;
  // Rows of whole units follow one another as the units of a row do.
  const bool whole = codes % unit.codes == 0;
  const bool are_bytes = whole && packing_.bits == 8;
  table_.transpose[2]({.from = at_byte((first * packing_.columns + i / packing_.row) * kWordBytes),
                       .from_stride = packing_.columns * kWordBytes,
                       .to = are_bytes ? out : words,
                       .to_stride = static_cast<size_t>(row_bytes),
                       .rows = static_cast<size_t>(n),
                       .columns = static_cast<size_t>(rows)});
  const int64_t calls = are_bytes ? 0 : whole ? 1 : rows;
  const auto each = static_cast<size_t>(whole ? rows * codes : codes);
  for (int64_t r = 0; r < calls; ++r) {
    const auto readable = static_cast<size_t>((rows - r) * row_bytes);
    unpacker()(words + r * row_bytes, readable, each, out + r * codes);
  }
  if (kind(element_) == Kind::signed_integer) extend_signs(out, rows * codes, packing_.bits);
  return lead;
}

void PackedCodes::transpose_bytes(const Lines& lines, uint8_t* to, int64_t pitch) const noexcept {
  for (int64_t k = 0, n = 0; k < lines.count; k += n) {
    n = lines.count - k < 2 * kTransposed ? lines.count - k : kTransposed;
    const int64_t next = std::min(kTransposed, lines.count - k - n);
    lines.part(k + n, next, lines.count).fetch();
    table_.transpose[0]({.from = lines.first + k * lines.stride,
                         .from_stride = lines.stride,
                         .to = to + k,
                         .to_stride = static_cast<size_t>(pitch),
                         .rows = static_cast<size_t>(n),
                         .columns = static_cast<size_t>(lines.bytes)});
  }
}

PackedCodes::Lines PackedCodes::lines_of_matrix(int64_t i, int64_t rows,
                                                int64_t count) const noexcept {
  const Unit unit = unit_of(packing_);
  const int64_t first = i % packing_.row / unit.codes * unit.words;
  const int64_t words = ceil_div(count, unit.codes) * unit.words;
  return {at_byte((first * packing_.columns + i / packing_.row) * kWordBytes),
          packing_.columns * kWordBytes, std::min(words, words_of_row(packing_) - first),
          rows * kWordBytes};
}

PackedCodes::Lines PackedCodes::lines_of_rows(int64_t i, int64_t rows, int64_t count,
                                              int64_t stride) const noexcept {
  if (!is_packing(packing_)) {
    const int64_t width = bits(element_);
    return {at_byte(first_byte_ + i * width / 8), stride * width / 8, count, rows * width / 8};
  }
  if (packing_.row == 0) return {};
  const int64_t row_bytes = words_of_row(packing_) * kWordBytes;
  return {at_byte(byte_of(i / packing_.row, i % packing_.row)), stride / packing_.row * row_bytes,
          count, rows * packing_.bits / 8};
}

}  // namespace dequant
