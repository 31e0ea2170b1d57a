// Layouts of codes by the place of each bit: slow, and independent of the library.
#pragma once

#include <algorithm>
#include <array>

#include "dequant/parameters.h"
#include "support/packed.h"

namespace dequant::testing {

/// A bit of a tensor's bytes.
struct Bit {
  int64_t byte;
  int bit;
};

/// The number of bit b of code k of a row, counted over all words of the row.
inline int64_t bit_of_row(const Packing& p, int64_t k, int b) {
  switch (p.order) {
    case CodeOrder::words: {
      const int64_t in_word = 32 / p.bits;
      return k / in_word * 32 + k % in_word * p.bits + b;
    }
    case CodeOrder::interleaved: {
      constexpr std::array kCodes{0, 2, 4, 6, 1, 3, 5, 7};
      const auto field = std::find(kCodes.begin(), kCodes.end(), k % 8) - kCodes.begin();
      return k / 8 * 32 + field * 4 + b;
    }
    case CodeOrder::planes: {
      int64_t words = k / 32 * p.bits;
      int lower = 0;
      for (const int plane : {4, 2, 1}) {
        if ((p.bits & plane) == 0) continue;
        if (b < lower + plane) return words * 32 + k % 32 * plane + b - lower;
        words += plane;
        lower += plane;
      }
      return -1;
    }
    default: return k * p.bits + b;
  }
}

inline int64_t words_of_row(const Packing& p) {
  int64_t last = 0;
  for (int64_t k = std::max<int64_t>(p.row - 32, 0); k < p.row; ++k)
    last = std::max(last, bit_of_row(p, k, p.bits - 1));
  return last / 32 + 1;
}

/// `row_words`: words_of_row(p), which is slow.
inline Bit bit_of(const Packing& p, int64_t row_words, int64_t i, int b) {
  if (p.order == CodeOrder::high_first) return {i / 2, (i % 2 == 0 ? 4 : 0) + b};
  if (p.order == CodeOrder::slabs || p.order == CodeOrder::slabs_high_first) {
    const int64_t bytes = p.bits == 1 || p.bits == 2 || p.bits == 4 || p.bits == 8 ? 1 : 4;
    const int64_t fields = bytes * 8 / p.bits;
    const int64_t slab = i / p.columns;
    const int64_t field = p.order == CodeOrder::slabs ? slab : fields - 1 - slab;
    const auto bit = static_cast<int>(field * p.bits + b);
    return {i % p.columns * bytes + bit / 8, bit % 8};
  }
  const int64_t n = bit_of_row(p, i % p.row, b);
  const int64_t row = i / p.row;
  const int64_t word = p.columns != 0 ? n / 32 * p.columns + row : row * row_words + n / 32;
  return {word * 4 + n % 32 / 8, static_cast<int>(n % 8)};
}

/// The bytes of a tensor of so many codes.
inline size_t bytes_for(const Packing& p, int64_t codes) {
  if (codes == 0) return 0;
  if (p.order == CodeOrder::high_first) return static_cast<size_t>((codes + 1) / 2);
  if (p.order >= CodeOrder::slabs) {
    const int64_t bytes = 8 % p.bits == 0 ? 1 : 4;
    return static_cast<size_t>(std::min(codes, p.columns) * bytes);
  }
  const int64_t rows = p.columns != 0 ? p.columns : (codes + p.row - 1) / p.row;
  return static_cast<size_t>(rows * words_of_row(p) * 4);
}

inline uint32_t code_at(const Packing& p, const Bytes& data, int64_t i) {
  const bool in_rows =
      p.columns == 0 && p.order < CodeOrder::slabs && p.order != CodeOrder::high_first;
  const int64_t row_words = in_rows ? words_of_row(p) : 0;
  uint32_t code = 0;
  for (int b = 0; b < p.bits; ++b) {
    const Bit at = bit_of(p, row_words, i, b);
    const auto byte = static_cast<uint32_t>(data[static_cast<size_t>(at.byte)]);
    code |= (byte >> at.bit & 1U) << b;
  }
  return code;
}

/// A Packing for a tensor of so many codes.
inline Packing random_packing(Random& random, int64_t codes) {
  Packing p;
  p.order = static_cast<CodeOrder>(random.in(1, 7));
  p.bits = static_cast<int32_t>(random.in(1, 8));
  if (p.order == CodeOrder::high_first || p.order == CodeOrder::interleaved) p.bits = 4;
  if (p.order == CodeOrder::planes) p.bits = random.of(std::array{3, 5, 6, 7});
  if (p.order == CodeOrder::high_first) return p;
  if (p.order >= CodeOrder::slabs) {
    const int64_t fields = (8 % p.bits == 0 ? 8 : 32) / p.bits;
    p.columns = (codes + fields - 1) / fields + random.in(0, 2);
    p.columns = std::max<int64_t>(p.columns, 1);
    return p;
  }
  p.row = random.coin() ? random.in(1, codes + 3) : random.in(1, std::min<int64_t>(codes + 1, 99));
  if (p.order == CodeOrder::planes) p.row = (p.row + 31) / 32 * 32;
  if (random.coin()) p.columns = (codes + p.row - 1) / p.row + random.in(0, 2);
  return p;
}

}  // namespace dequant::testing
