// What one thread of a kernel of rows does: the words of neighbouring rows are neighbours in
// memory, as GPTQ stores them. A thread loads the words, scales and zero points of eight rows as
// vectors.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/thread/fast_thread.h"

namespace dequant::cuda {

/// The words of a thread's rows that hold a vector of each row: one word, and a second one, `high`,
/// for eight codes of 8 bits.
struct RowWindows {
  StoredCodes<32, kRowsAtOnce> low;
  StoredCodes<32, kRowsAtOnce> high;
  uint32_t within;  ///< bits before the first code
};

/// The place of a thread's first vector, and the words of all its rows.
template <int kCount>
struct RowsOfThread {
  FastSpot spot;
  RowWindows windows;

  DEQUANT_HD RowsOfThread(const FastPlan& f, uint32_t thread) noexcept {
    Vector<FastSpot, 1> spots;
    fast_spots(f, thread, spots);
    spot = spots[0];
    const FastLayout& l = f.layout;
    const StreamPlace at = stream_place(l, l.origin + static_cast<uint32_t>(spot.x));
    const auto load = [](const Word* from) {
      return load_stored<32, kRowsAtOnce>(reinterpret_cast<const uint8_t*>(from));
    };
    windows = {load(at.words.from), {}, at.within};
    if (kCount == 8 && l.bits == 8) windows.high = load(at.words.from + l.word_step);
  }
};

/// The codes of row u, of 4 or 8 bits, with their sign bits inverted.
template <int kCount>
DEQUANT_HD inline StoredCodes<kUnpacked, kCount> codes_of_window(const FastPlan& f,
                                                                 const RowWindows& windows,
                                                                 int u) noexcept {
  if (f.layout.bits == 8) {
    StoredCodes<kUnpacked, kCount> out;
    out.words[0] = windows.low.words[u] ^ f.signs;
    if constexpr (kCount == 8) out.words[1] = windows.high.words[u] ^ f.signs;
    return out;
  }
  return halves_of_bytes<kCount>(windows.low.words[u] >> (kCount == 8 ? 0 : windows.within),
                                 f.signs);
}

/// The zero points of a thread's rows in one group, as stored; of 4 bits in words[0].
using RowZeros = StoredCodes<8, kRowsAtOnce>;

/// The same from index at(j) on of each group j. How they are stored is decided once, so that the
/// loads follow each other.
template <int kNumber, class Index>
DEQUANT_HD inline void load_row_zeros(const FastPlan& f, const Index& at,
                                      Vector<RowZeros, kNumber>& out) noexcept {
  const uint8_t* data = f.plan.zero_point.data;
  out = {};
  if (f.zero_point == FastParam::constant) return;
  if (f.zero_point == FastParam::bits8) {
    for (int j = 0; j < kNumber; ++j) out[j] = load_stored<8, kRowsAtOnce>(data + at(j));
  } else {
    for (int j = 0; j < kNumber; ++j) {
      out[j].words[0] = load_stored<4, kRowsAtOnce>(data + (at(j) >> 1)).words[0];
    }
  }
}

/// The same as bytes, with `in_bytes` added to each: words[0] has the even rows, words[1] the odd
/// ones.
template <int kNumber>
DEQUANT_HD inline void spread_row_zeros(const FastPlan& f, uint32_t in_bytes,
                                        Vector<RowZeros, kNumber>& zeros) noexcept {
  for (int j = 0; j < kNumber; ++j) {
    const uint32_t low = zeros[j].words[0];
    const uint32_t high = zeros[j].words[1];
    if (f.zero_point == FastParam::bits4) {
      zeros[j].words[0] = low & kLowHalves;
      zeros[j].words[1] = low >> 4 & kLowHalves;
    } else {
      zeros[j].words[0] = permuted(low, high, 0x6420);
      zeros[j].words[1] = permuted(low, high, 0x7531);
    }
  }
  const auto add = [&](uint32_t number, uint32_t mask) {
    for (int j = 0; j < kNumber; ++j) {
      for (auto& word : zeros[j].words.values) word = (word + number * 0x01010101) & mask;
    }
  };
  if (f.wraps) add(static_cast<uint32_t>(f.plan.zero_point_offset) & 15, kLowHalves);
  if (in_bytes != 0) add(in_bytes, 0xFFFFFFFF);
}

/// The offset of zero points plus the sign of x, which is added to stored zero points: in their
/// bytes where no sum exceeds 255, else to the floats.
struct ZeroBias {
  uint32_t in_bytes;
  float rest;  ///< for the floats
  DEQUANT_HD explicit ZeroBias(const FastPlan& f) noexcept {
    const int32_t offset = f.wraps ? 0 : f.plan.zero_point_offset;
    const int32_t zero = f.zero_point == FastParam::constant ? f.constant_zero : offset;
    const int32_t all = zero + static_cast<int32_t>(f.plan.x.sign);
    const int32_t most = f.zero_point == FastParam::bits8 ? 0 : 255 - 15;
    const bool fits = all >= 0 && all <= most;
    in_bytes = fits ? static_cast<uint32_t>(all) : 0;
    rest = fits ? 0 : static_cast<float>(all);
  }
};

/// The scales of a thread's rows from index `first` on.
template <int kBits>
DEQUANT_HD inline StoredCodes<kBits, kRowsAtOnce> load_row_scales(const FastPlan& f,
                                                                  uint32_t first) noexcept {
  return load_stored<kBits, kRowsAtOnce>(f.plan.scale.data + uint64_t{first} * (kBits / 8));
}

/// The same as floats.
DEQUANT_HD inline Vector<float, kRowsAtOnce> floats_of_row_scales(const FastPlan& f,
                                                                  uint32_t first) noexcept {
  Vector<float, kRowsAtOnce> out;
  if (f.scale == FastParam::float32) {
    const auto stored = load_row_scales<32>(f, first);
    for (int u = 0; u < kRowsAtOnce; ++u) out[u] = std::bit_cast<float>(stored.words[u]);
  } else {
    const auto stored = load_row_scales<16>(f, first);
    for (int u = 0; u < kRowsAtOnce; ++u) out[u] = half_float(f.scale, code_of(stored, u));
  }
  return out;
}

/// Row i in the order in which a thread computes rows: even ones before odd ones, so that the zero
/// points of either are the bytes of one word.
struct RowInOrder {
  int odd;   ///< the word
  int pair;  ///< the byte
  int u;     ///< the row
  DEQUANT_HD explicit RowInOrder(int i) noexcept
      : odd(i / (kRowsAtOnce / 2)), pair(i % (kRowsAtOnce / 2)), u(2 * pair + odd) {}

  /// 2^23 + zero.
  DEQUANT_HD float shifted_zero(const RowZeros& zeros) const noexcept {
    const auto selector = 0x7650 + static_cast<uint32_t>(pair);
    return std::bit_cast<float>(permuted(zeros.words[odd], kShiftBits, selector));
  }
};

/// The body of the kernel of rows whose vectors have the parameters of one group.
template <int kCount>
DEQUANT_HD inline void run_rows_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  const RowsOfThread<kCount> rows(f, thread);
  Vector<RowZeros, 1> zeros;
  load_row_zeros(
      f, [&](int) { return rows.spot.zero_point; }, zeros);
  const auto scales = floats_of_row_scales(f, rows.spot.scale);
  const ZeroBias bias(f);
  spread_row_zeros(f, bias.in_bytes, zeros);
  for (int i = 0; i < kRowsAtOnce; ++i) {
    const RowInOrder row(i);
    const float zero = row.shifted_zero(zeros[0]) + bias.rest;
    const float scale = scales[row.u];
    Vector<float, kCount> y;
    shifted_codes(codes_of_window<kCount>(f, rows.windows, row.u), 0, y);
    for (int j = 0; j < kCount; ++j) y[j] = (y[j] - zero) * scale;
    store_outputs(f.y + rows.spot.y + row.u * f.unit_y,
                  outputs_of(f.plan.output, y, !is_finite(scale)));
  }
}

}  // namespace dequant::cuda
