// Reading the codes of neighbours, in few loads where their order allows it, and storing results.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/plan/vector_size.h"
#include "cuda/thread/codes.h"
#include "cuda/thread/vector.h"

namespace dequant::cuda {

/// Words and halves of words in memory of any type.
using Word [[gnu::may_alias]] = uint32_t;
using HalfWord [[gnu::may_alias]] = uint16_t;

/// kWords words at an address of any alignment, in one load where it is aligned to all of them.
template <int kWords>
DEQUANT_HD inline void load_words(const uint8_t* from, Vector<uint32_t, kWords>& words) noexcept {
  struct alignas(4 * kWords) [[gnu::may_alias]] Aligned {
    Vector<uint32_t, kWords> words;
  };
  if (reinterpret_cast<uintptr_t>(from) % alignof(Aligned) == 0) {
    words = reinterpret_cast<const Aligned*>(from)->words;
  } else {
    for (int j = 0; j < kWords; ++j) words[j] = load_word(from + 4 * j);
  }
}

/// kCount codes that begin on a byte and fill whole words.
template <int kBits, int kCount>
DEQUANT_HD inline void split_words(const uint8_t* from, Vector<uint32_t, kCount>& out) noexcept {
  constexpr int kWords = kCount * kBits / 32;
  constexpr int kInWord = 32 / kBits;
  Vector<uint32_t, kWords> words;
  load_words(from, words);
  for (int j = 0; j < kCount; ++j) {
    out[j] = words[j / kInWord] >> (j % kInWord * kBits) & low_bits(kBits);
  }
}

/// kCount codes of at most 7 bits from bit `bit` of a stream on; reads only bytes that hold them.
template <int kCount>
DEQUANT_HD inline void split_bytes(const uint8_t* stream, int bits, int64_t bit,
                                   Vector<uint32_t, kCount>& out) noexcept {
  const int within = static_cast<int>(bit & 7);
  const int bytes = (within + kCount * bits + 7) / 8;
  const uint8_t* from = stream + (bit >> 3);
  uint64_t all = 0;
  for (int j = 0; j < bytes; ++j) all |= static_cast<uint64_t>(from[j]) << (8 * j);
  for (int j = 0; j < kCount; ++j) {
    out[j] = static_cast<uint32_t>(all >> (within + j * bits)) & low_bits(bits);
  }
}

/// kCount codes from code i of a stream on.
template <int kCount>
DEQUANT_HD inline void load_stream(const uint8_t* stream, int bits, int64_t i,
                                   Vector<uint32_t, kCount>& out) noexcept {
  switch (bits) {
    case 8: return split_words<8>(stream + i, out);
    case 16: return split_words<16>(stream + 2 * i, out);
    case 32: return split_words<32>(stream + 4 * i, out);
    case 4:
      if constexpr (kCount == 8) {
        if ((i & 1) == 0) return split_words<4>(stream + i / 2, out);
      }
      [[fallthrough]];
    default: return split_bytes(stream, bits, i * bits, out);
  }
}

/// The same of a row of a Packing, from code k of the row on. False if the order needs code_at().
template <int kCount>
DEQUANT_HD inline bool load_row(const Codes& codes, int64_t r, int64_t k,
                                Vector<uint32_t, kCount>& out) noexcept {
  const Row row(codes, r);
  if (codes.order == CodeOrder::interleaved) {
    if ((k & (kCount - 1)) != 0) return false;
    const uint32_t word = row.word(k >> 3) >> ((k & 4) != 0 ? 8 : 0);
    for (int j = 0; j < kCount; ++j) out[j] = word >> ((j & 1) * 16 + (j >> 1) * 4) & 15;
    return true;
  }
  const bool is_stream = codes.order == CodeOrder::stream ||
                         (codes.order == CodeOrder::words && codes.in_word * codes.bits == 32);
  if (!is_stream) return false;
  if (codes.word_step == 1) {
    load_stream(codes.data + r * codes.row_step * 4, codes.bits, k, out);
    return true;
  }
  const int64_t at = k * codes.bits;
  const int within = static_cast<int>(at & 31);
  const int end = within + kCount * codes.bits;
  if (end > 64) return false;
  uint64_t all = row.word(at >> 5);
  if (end > 32) all |= static_cast<uint64_t>(row.word((at >> 5) + 1)) << 32;
  for (int j = 0; j < kCount; ++j) {
    out[j] = static_cast<uint32_t>(all >> (within + j * codes.bits)) & low_bits(codes.bits);
  }
  return true;
}

/// Swaps codes 0 and 1, 2 and 3, ...
template <int kCount>
DEQUANT_HD inline void swap_pairs(Vector<uint32_t, kCount>& codes) noexcept {
  for (int j = 0; j < kCount; j += 2) {
    const uint32_t first = codes[j];
    codes[j] = codes[j + 1];
    codes[j + 1] = first;
  }
}

/// kCount codes of 4 bits from an even index on, of which the first of each two is in the high bits
/// of a byte.
template <int kCount>
DEQUANT_HD inline void load_high_first(const Codes& codes, int64_t i,
                                       Vector<uint32_t, kCount>& out) noexcept {
  load_stream(codes.data, 4, i, out);
  swap_pairs(out);
}

/// kCount codes of one slab. False if they are in two.
template <int kCount>
DEQUANT_HD inline bool load_slab(const Codes& codes, int64_t i,
                                 Vector<uint32_t, kCount>& out) noexcept {
  const int64_t slab = codes.by_columns.quotient(i);
  const int64_t column = i - slab * codes.columns;
  if (column + kCount > codes.columns) return false;
  const int64_t field = codes.order == CodeOrder::slabs ? slab : codes.in_word - 1 - slab;
  const uint8_t* from = codes.data + column * codes.word_bytes;
  Vector<uint32_t, kCount> words;
  if (codes.word_bytes == 1) {
    split_words<8>(from, words);
  } else {
    split_words<32>(from, words);
  }
  for (int j = 0; j < kCount; ++j) {
    out[j] = words[j] >> (field * codes.bits) & low_bits(codes.bits);
  }
  return true;
}

/// The codes at i, i + 1, ...
template <int kCount>
DEQUANT_HD inline void load_codes(const Codes& codes, int64_t i,
                                  Vector<uint32_t, kCount>& out) noexcept {
  switch (codes.order) {
    case CodeOrder::of_element: return load_stream(codes.data, codes.bits, i, out);
    case CodeOrder::high_first:
      if ((i & 1) == 0) return load_high_first(codes, i, out);
      break;
    case CodeOrder::slabs:
    case CodeOrder::slabs_high_first:
      if (load_slab(codes, i, out)) return;
      break;
    default: {
      const int64_t r = codes.by_row.quotient(i);
      const int64_t k = i - r * codes.row;
      if (k + kCount <= codes.row && load_row(codes, r, k, out)) return;
    }
  }
  for (int j = 0; j < kCount; ++j) out[j] = code_at(codes, i + j);
}

/// The output code of a float32 value.
DEQUANT_HD inline uint32_t narrow(Element output, float value) noexcept {
  if (output == Element::float32) return narrow_float32(value);
  return output == Element::float16 ? narrow_float16(value) : narrow_bfloat16(value);
}

template <int kBytes>
DEQUANT_HD inline void store_one(uint8_t* to, uint32_t code) noexcept {
  if constexpr (kBytes == 4) {
    if ((reinterpret_cast<uintptr_t>(to) & 3) == 0) {
      *reinterpret_cast<Word*>(to) = code;
      return;
    }
  } else if ((reinterpret_cast<uintptr_t>(to) & 1) == 0) {
    *reinterpret_cast<HalfWord*>(to) = static_cast<uint16_t>(code);
    return;
  }
  for (int j = 0; j < kBytes; ++j) to[j] = static_cast<uint8_t>(code >> (8 * j) & 0xFF);
}

/// Neighbours in y, which fill 16 bytes, in one store where `to` is aligned to these.
template <int kCount>
DEQUANT_HD inline void store_vector(uint8_t* to, const Vector<uint32_t, kCount>& codes) noexcept {
  constexpr int kBytes = 16 / kCount;
  struct alignas(16) [[gnu::may_alias]] Aligned {
    uint32_t words[4];
  };
  if (reinterpret_cast<uintptr_t>(to) % alignof(Aligned) != 0) {
    for (int j = 0; j < kCount; ++j) store_one<kBytes>(to + j * kBytes, codes[j]);
    return;
  }
  Aligned all;
  for (int j = 0; j < 4; ++j) {
    if constexpr (kBytes == 4) {
      all.words[j] = codes[j];
    } else {
      all.words[j] = codes[2 * j] | codes[2 * j + 1] << 16;
    }
  }
  *reinterpret_cast<Aligned*>(to) = all;
}

}  // namespace dequant::cuda
