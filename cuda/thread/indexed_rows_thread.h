// What one thread of a kernel with a group index does where its rows are neighbours: it loads the
// words, and the parameters of each column's group, of eight rows at once.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/thread/indexed_thread.h"

namespace dequant::cuda {

/// The words of a thread's rows: `high` is the second word of a vector of codes of 8 bits.
struct RowWindows {
  StoredCodes<32, kIndexedRows> low;
  StoredCodes<32, kIndexedRows> high;
  uint32_t within;  ///< bits before the first code
};

/// Of rows whose words are neighbours, from code i on.
template <int kCount>
DEQUANT_HD inline RowWindows load_row_windows(const FastLayout& l, uint32_t i) noexcept {
  const StreamPlace at = stream_place(l, i);
  const auto load = [&](const Word* from) {
    return load_stored<32, kIndexedRows>(reinterpret_cast<const uint8_t*>(from));
  };
  RowWindows out{load(at.words.from), {}, at.within};
  if (kCount == 8 && l.bits == 8) out.high = load(at.words.from + l.word_step);
  return out;
}

/// The codes of one of these rows, of 4 or 8 bits, with `signs` changed.
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

/// The zero points of a thread's rows in the group of a column, as stored; of 4 bits in words[0].
using RowZeros = StoredCodes<8, kIndexedRows>;

/// The same of each column. How they are stored is decided once, so that the loads follow each
/// other.
template <int kCount>
DEQUANT_HD inline void load_zeros_of_rows(const FastPlan& f, uint32_t first,
                                          const GroupOffsets<kCount>& groups,
                                          Vector<RowZeros, kCount>& out) noexcept {
  const uint8_t* data = f.plan.zero_point.data;
  const auto at = [&](int j) { return first + groups.zero_point[j]; };
  out = {};
  if (f.zero_point == FastParam::constant) return;
  if (f.zero_point == FastParam::bits8) {
    for (int j = 0; j < kCount; ++j) out[j] = load_stored<8, kIndexedRows>(data + at(j));
  } else {
    for (int j = 0; j < kCount; ++j) {
      out[j].words[0] = load_stored<4, kIndexedRows>(data + (at(j) >> 1)).words[0];
    }
  }
}

/// The same as bytes, with `in_bytes` added to each: words[0] has the even rows, words[1] the odd
/// ones.
template <int kCount>
DEQUANT_HD inline void spread_zeros(const FastPlan& f, uint32_t in_bytes,
                                    Vector<RowZeros, kCount>& zeros) noexcept {
  for (int j = 0; j < kCount; ++j) {
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
    for (int j = 0; j < kCount; ++j) {
      for (auto& word : zeros[j].words.values) word = (word + number * 0x01010101) & mask;
    }
  };
  if (f.wraps) add(static_cast<uint32_t>(f.plan.zero_point_offset) & 15, kLowHalves);
  if (in_bytes != 0) add(in_bytes, 0xFFFFFFFF);
}

/// What is to be added to stored zero points, and the sign of x.
DEQUANT_HD inline int32_t zero_bias(const FastPlan& f) noexcept {
  const int32_t offset = f.wraps ? 0 : f.plan.zero_point_offset;
  const int32_t zero = f.zero_point == FastParam::constant ? f.constant_zero : offset;
  return zero + static_cast<int32_t>(f.plan.x.sign);
}

/// As much of it as can be added to bytes.
DEQUANT_HD inline int32_t bias_in_bytes(const FastPlan& f, int32_t bias) noexcept {
  const int32_t most = f.zero_point == FastParam::bits8 ? 0 : 255 - 15;
  return bias >= 0 && bias <= most ? bias : 0;
}

/// The scales of a thread's rows in the group of each column; NaN where there is no group.
template <int kBits, int kCount>
DEQUANT_HD inline void load_scales_of_rows(
    const FastPlan& f, const FastSpot& spot, const GroupOffsets<kCount>& groups,
    Vector<StoredCodes<kBits, kIndexedRows>, kCount>& out) noexcept {
  for (int j = 0; j < kCount; ++j) {
    const uint32_t at = spot.scale + groups.scale[j];
    out[j] = load_stored<kBits, kIndexedRows>(f.plan.scale.data + uint64_t{at} * (kBits / 8));
  }
  for_no_groups(f, spot, groups, [&](int j) {
    for (auto& word : out[j].words.values) word = kBits == 16 ? 0x7FFF7FFF : 0x7FFFFFFF;
  });
}

/// The body of the kernel. Even rows come before odd ones, so that the zero points of either are
/// bytes of one word for each column.
template <int kCount>
DEQUANT_HD inline void run_indexed_rows_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  const RowWindows windows =
      load_row_windows<kCount>(f.layout, f.layout.origin + static_cast<uint32_t>(spots[0].x));
  const auto groups = load_groups<kCount>(f, spots[0]);
  Vector<RowZeros, kCount> zeros;
  load_zeros_of_rows(f, spots[0].zero_point, groups, zeros);
  const int32_t bias = zero_bias(f);
  const int32_t in_bytes = bias_in_bytes(f, bias);
  const auto rest = static_cast<float>(bias - in_bytes);
  const auto run = [&]<int kBits>(const auto& float_of_scale) {
    Vector<StoredCodes<kBits, kIndexedRows>, kCount> scales;
    load_scales_of_rows(f, spots[0], groups, scales);
    spread_zeros(f, static_cast<uint32_t>(in_bytes), zeros);
    for (int i = 0; i < kIndexedRows; ++i) {
      const int odd = i / (kIndexedRows / 2);
      const int pair = i % (kIndexedRows / 2);
      const int u = 2 * pair + odd;
      Vector<float, kCount> y;
      shifted_codes(codes_of_window<kCount>(f, windows, u), 0, y);
      for (int j = 0; j < kCount; ++j) {
        const uint32_t zero =
            permuted(zeros[j].words[odd], kShiftBits, 0x7650 + static_cast<uint32_t>(pair));
        y[j] = y[j] - std::bit_cast<float>(zero);
      }
      if (rest != 0) {
        for (int j = 0; j < kCount; ++j) y[j] = y[j] - rest;
      }
      bool careful = false;
      for (int j = 0; j < kCount; ++j) {
        const float scale = float_of_scale(code_of(scales[j], u));
        careful = careful || !is_finite(scale);
        y[j] = y[j] * scale;
      }
      store_outputs(f.y + spots[0].y + u * f.unit_y, outputs_of(f.plan.output, y, careful));
    }
  };
  if constexpr (has_wide_scales(kCount)) {
    if (f.scale == FastParam::float32) {
      return run.template operator()<32>([](uint32_t code) { return std::bit_cast<float>(code); });
    }
  }
  if (f.scale == FastParam::float16) {
    return run.template operator()<16>([](uint32_t code) { return widen_float16(code); });
  }
  run.template operator()<16>([](uint32_t code) { return widen_bfloat16(code); });
}

}  // namespace dequant::cuda
