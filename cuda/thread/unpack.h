// Codes of a FastLayout as bytes. All vectors of a thread are loaded before one is used.
#pragma once

#include <cstdint>

#include "cuda/plan/fast_layout.h"
#include "cuda/thread/fast_codes.h"

namespace dequant::cuda {

/// The lowest 32 bits of high * 2^32 + low after a shift of less than 32.
DEQUANT_HD inline uint32_t funnel(uint32_t low, uint32_t high, uint32_t shift) noexcept {
#if defined(__CUDA_ARCH__)
  return __funnelshift_r(low, high, shift);
#else
  return static_cast<uint32_t>((low | uint64_t{high} << 32) >> shift);
#endif
}

/// The bits of `a` where `mask` has ones, else the bits of `b`.
DEQUANT_HD inline uint32_t selected(uint32_t mask, uint32_t a, uint32_t b) noexcept {
  return (a & mask) | (b & ~mask);
}

/// Four codes from the lowest bits on, as the lowest bits of bytes, and others' above them.
DEQUANT_HD inline uint32_t spread(uint32_t codes, uint32_t bits) noexcept {
  const uint32_t halves = selected(0xFFFF0000, codes << (16 - 2 * bits), codes);
  return selected(0xFF00FF00, halves << (8 - bits), halves);
}

/// The codes of a vector as a stream from bit 0 on.
struct Window {
  uint32_t low;
  uint32_t high;
};

/// The words of a row from one of them on.
struct RowWords {
  const Word* from;
  uint32_t step;

  DEQUANT_HD RowWords(const FastLayout& l, uint32_t row, uint32_t word) noexcept
      : from(reinterpret_cast<const Word*>(l.data) + (row * l.row_step + word * l.word_step)),
        step(l.word_step) {}
  DEQUANT_HD uint32_t operator[](uint32_t j) const noexcept { return from[j * step]; }
};

/// Where a vector begins in a row that is one stream: at half of a byte, `within` bits in a word.
struct StreamPlace {
  RowWords words;
  uint32_t within;
};

DEQUANT_HD inline StreamPlace stream_place(const FastLayout& l, uint32_t i) noexcept {
  const uint32_t r = l.by_row.quotient(i);
  const uint32_t halves = ((i - r * l.row) >> 2) * l.bits;
  return {RowWords(l, r, halves >> 3), (halves & 7) * 4};
}

template <int kCount>
DEQUANT_HD inline Window stream_window(const FastLayout& l, const StreamPlace& at) noexcept {
  const uint32_t end = at.within + kCount * l.bits;
  const uint32_t first = at.words[0];
  uint32_t second = 0;
  uint32_t third = 0;
  if (end > 32) second = at.words[1];
  if (kCount == 8 && end > 64) third = at.words[2];
  return {funnel(first, second, at.within), funnel(second, third, at.within)};
}

template <int kCount>
DEQUANT_HD inline Window stream_window(const FastLayout& l, uint32_t i) noexcept {
  return stream_window<kCount>(l, stream_place(l, i));
}

/// Of words whose highest bits have no code.
template <int kCount>
DEQUANT_HD inline Window words_window(const FastLayout& l, uint32_t i) noexcept {
  const uint32_t r = l.by_row.quotient(i);
  const uint32_t k = i - r * l.row;
  const uint32_t word = l.by_word.quotient(k);
  const uint32_t within = (k - word * l.in_word) * l.bits;
  const RowWords words(l, r, word);
  const uint32_t end = within + kCount * l.bits;
  const uint32_t mask = 0xFFFFFFFF >> (32 - l.word_bits);
  uint64_t all = (words[0] & mask) >> within;
  if (end > l.word_bits) all |= uint64_t{words[1] & mask} << (l.word_bits - within);
  if (kCount == 8 && end > 2 * l.word_bits) {
    all |= uint64_t{words[2] & mask} << (2 * l.word_bits - within);
  }
  return {static_cast<uint32_t>(all), static_cast<uint32_t>(all >> 32)};
}

/// A single code of a row without planes.
DEQUANT_HD inline uint32_t code_of_layout(const FastLayout& l, uint32_t i) noexcept {
  const uint32_t r = l.by_row.quotient(i);
  const uint32_t k = i - r * l.row;
  uint32_t word = k * l.bits >> 5;
  uint32_t within = k * l.bits & 31;
  if (l.order == FastOrder::words) {
    word = l.by_word.quotient(k);
    within = (k - word * l.in_word) * l.bits;
  } else if (l.order == FastOrder::interleaved) {
    within = (k & 1) * 16 + (k >> 1 & 3) * 4;
  }
  const RowWords words(l, r, word);
  uint32_t second = 0;
  if (within + l.bits > 32) second = words[1];
  return funnel(words[0], second, within) & low_bits(static_cast<int>(l.bits));
}

/// Of floats of 6 bits: loads only bytes that hold them.
template <int kCount>
DEQUANT_HD inline Window bytes_window(const FastLayout& l, uint32_t i) noexcept {
  const uint8_t* from = l.data + i / 4 * 3;
  if constexpr (kCount == 8) {
    const auto* halves = reinterpret_cast<const HalfWord*>(from);
    return {halves[0] | uint32_t{halves[1]} << 16, halves[2]};
  } else {
    return {from[0] | uint32_t{from[1]} << 8 | uint32_t{from[2]} << 16, 0};
  }
}

inline constexpr uint32_t kLowHalves = 0x0F0F0F0F;

/// Codes of 4 bits, from the lowest bits of a word on, with the bits of `signs` inverted in each
/// byte.
template <int kCount>
DEQUANT_HD inline StoredCodes<kUnpacked, kCount> halves_of_bytes(uint32_t word,
                                                                 uint32_t signs) noexcept {
  const uint32_t even = (word & kLowHalves) ^ signs;
  const uint32_t odd = (word >> 4 & kLowHalves) ^ signs;
  StoredCodes<kUnpacked, kCount> out;
  out.words[0] = permuted(even, odd, 0x5140);
  if constexpr (kCount == 8) out.words[1] = permuted(even, odd, 0x7362);
  return out;
}

/// The codes of a window in the lowest bits of bytes, with others' bits above them.
template <int kBits, int kCount>
DEQUANT_HD inline StoredCodes<kBits, kCount> spread_all(Window window, uint32_t bits) noexcept {
  StoredCodes<kBits, kCount> out;
  out.words[0] = spread(window.low, bits);
  if constexpr (kCount == 8) {
    const uint32_t rest = bits == 8 ? window.high : funnel(window.low, window.high, 4 * bits);
    out.words[1] = spread(rest, bits);
  }
  return out;
}

/// Adds the bits of a plane, kPlane of each code, to codes of `done` bits. `plane`: words from the
/// first one of 32 codes to the plane.
template <int kPlane, int kCount, int kNumber, class Index>
DEQUANT_HD inline void add_plane(const FastLayout& l, const Index& index, uint32_t done,
                                 Vector<StoredCodes<kUnpacked, kCount>, kNumber>& out) noexcept {
  constexpr uint32_t kMask = low_bits(kPlane) * 0x01010101;
  for (int u = 0; u < kNumber; ++u) {
    const uint32_t i = index(u);
    const uint32_t r = l.by_row.quotient(i);
    const uint32_t k = i - r * l.row;
    const uint32_t at = (k & 31) * kPlane;
    const uint32_t word = RowWords(l, r, (k >> 5) * l.bits + done + (at >> 5))[0] >> (at & 31);
    for (int j = 0; j < kCount / 4; ++j) {
      out[u].words[j] |= (spread(word >> (j * 4 * kPlane), kPlane) & kMask) << done;
    }
  }
}

/// The codes of planes of 4, then 2, then 1 bit: a plane of so many bits has as many words.
template <int kCount, int kNumber, class Index>
DEQUANT_HD inline void unpack_planes(
    const FastLayout& l, const Index& index,
    Vector<StoredCodes<kUnpacked, kCount>, kNumber>& out) noexcept {
  out = {};
  if ((l.bits & 4) != 0) add_plane<4>(l, index, 0, out);
  if ((l.bits & 2) != 0) add_plane<2>(l, index, l.bits & 4, out);
  if ((l.bits & 1) != 0) add_plane<1>(l, index, l.bits & 6, out);
}

/// The byte or word of a code, and the place of its lowest bit there.
struct Field {
  uint32_t at;
  uint32_t shift;
};

DEQUANT_HD inline Field field_of(const FastLayout& l, uint32_t i) noexcept {
  const uint32_t quotient = l.by_row.quotient(i);
  const uint32_t rest = i - quotient * l.row;
  if (l.in_pairs) return {quotient, rest * l.bits};
  return {rest, l.first_shift + quotient * l.shift_step};
}

/// Of neighbouring bytes whose address is aligned to all of them.
template <int kCount>
DEQUANT_HD inline StoredCodes<kUnpacked, kCount> unpack_fields(const FastLayout& l,
                                                               uint32_t i) noexcept {
  const Field field = field_of(l, i);
  const auto bytes = load_stored<8, kCount>(l.data + field.at);
  StoredCodes<kUnpacked, kCount> out;
  for (int j = 0; j < kCount / 4; ++j) out.words[j] = bytes.words[j] >> field.shift & l.mask;
  return out;
}

/// Of each code by itself.
template <int kCount>
DEQUANT_HD inline StoredCodes<kUnpacked, kCount> unpack_scattered(const FastLayout& l,
                                                                  uint32_t i) noexcept {
  Field field = field_of(l, i);
  Vector<uint32_t, kCount> codes;
  for (int j = 0; j < kCount; ++j) {
    const uint32_t word =
        l.is_of_words ? reinterpret_cast<const Word*>(l.data)[field.at] : l.data[field.at];
    codes[j] = word >> field.shift;
    ++field.at;
    if (!l.in_pairs && field.at == l.row) field = {0, field.shift + l.shift_step};
  }
  StoredCodes<kUnpacked, kCount> out;
  for (int j = 0; j < kCount / 4; ++j) {
    const uint32_t low = permuted(codes[4 * j], codes[4 * j + 1], 0x40);
    const uint32_t high = permuted(codes[4 * j + 2], codes[4 * j + 3], 0x40);
    out.words[j] = permuted(low, high, 0x5410) & l.mask;
  }
  return out;
}

/// The floats of 6 bits from index(u) on of each vector u, in the highest bits of bytes.
template <int kCount, int kNumber, class Index>
DEQUANT_HD inline void unpack(const FastLayout& l, const Index& index,
                              Vector<StoredCodes<6, kCount>, kNumber>& out) noexcept {
  Vector<Window, kNumber> all;
  for (int u = 0; u < kNumber; ++u) all[u] = bytes_window<kCount>(l, index(u));
  for (int u = 0; u < kNumber; ++u) {
    out[u] = spread_all<6, kCount>(all[u], 6);
    for (int j = 0; j < kCount / 4; ++j) out[u].words[j] <<= 2;
  }
}

/// The integers from index(u) on of each vector u. How they are stored is decided once, so that the
/// loads follow each other.
template <int kCount, int kNumber, class Index>
DEQUANT_HD inline void unpack(const FastLayout& l, const Index& index,
                              Vector<StoredCodes<kUnpacked, kCount>, kNumber>& out) noexcept {
  const auto windows = [&](const auto& window_at) {
    Vector<Window, kNumber> all;
    for (int u = 0; u < kNumber; ++u) all[u] = window_at(index(u));
    for (int u = 0; u < kNumber; ++u) {
      out[u] = spread_all<kUnpacked, kCount>(all[u], l.bits);
      for (int j = 0; j < kCount / 4; ++j) out[u].words[j] &= l.mask;
    }
  };
  switch (l.order) {
    case FastOrder::stream: return windows([&](uint32_t i) { return stream_window<kCount>(l, i); });
    case FastOrder::words: return windows([&](uint32_t i) { return words_window<kCount>(l, i); });
    case FastOrder::planes: return unpack_planes(l, index, out);
    case FastOrder::fields:
      for (int u = 0; u < kNumber; ++u) out[u] = unpack_fields<kCount>(l, index(u));
      return;
    default:
      for (int u = 0; u < kNumber; ++u) out[u] = unpack_scattered<kCount>(l, index(u));
  }
}

}  // namespace dequant::cuda
