// What one thread of a kernel of squares does, where parameters are stored plainly: of codes of 8
// and 16 bits, and of integers of 4 with the parameters of columns.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/plan/squares.h"
#include "cuda/thread/fast_codes.h"
#include "cuda/thread/fast_params.h"
#include "cuda/thread/fast_spot.h"
#include "cuda/thread/fast_store.h"

namespace dequant::cuda {

/// The parameters of rows and of columns: those that the plan does not have change no result.
template <int kRows, int kCount>
struct SquareParams {
  Vector<float, kRows> row_scales;
  Vector<float, kRows> row_zeros;  ///< subtrahends of 2^23 + (code ^ sign)
  Vector<float, kCount> column_scales;
  Vector<float, kCount> column_zeros;
  bool careful = false;
};

/// The code of a zero point that is stored as x is.
template <int kBits>
DEQUANT_HD inline uint32_t plain_code(const uint8_t* data, uint32_t i) noexcept {
  if constexpr (kBits == 16) return reinterpret_cast<const HalfWord*>(data)[i];
  if constexpr (kBits == 8) return data[i];
  return data[i >> 1] >> ((i & 1) * 4) & 15;
}

/// Rows and columns have one way to load them, of as many as the more of them.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline auto square_params(const FastPlan& f, const FastSpot& spot) noexcept {
  constexpr int kRows = square_rows(kBits);
  constexpr int kMost = kRows > kCount ? kRows : kCount;
  constexpr bool kHasZeros = kKind == FastKind::integer;
  const bool by_row = f.by_row;
  const bool is_stored = kHasZeros && f.zero_point != FastParam::constant;
  const Codes& stored = f.plan.zero_point;
  const auto at = [&](uint32_t first, int i, uint32_t step) {
    return first + static_cast<uint32_t>(i % (by_row ? kRows : kCount)) * step;
  };
  Vector<float, kMost> scales;
  Vector<uint32_t, kMost> codes{};
  large_floats_at(
      f.scale, f.plan.scale, [&](int i) { return at(spot.scale, i, f.scale_step); }, scales);
  if (is_stored) {
    for (int i = 0; i < kMost; ++i) {
      codes[i] = plain_code<kBits>(stored.data, at(spot.zero_point, i, f.zero_point_step));
    }
  }
  SquareParams<kRows, kCount> out;
  for (int i = 0; i < kMost; ++i) {
    const int32_t zero = is_stored ? value_of(stored, codes[i]) : f.constant_zero;
    out.careful = out.careful || !is_finite(scales[i]);
    if (i < kCount) {
      out.column_scales[i] = by_row ? 1 : scales[i];
      if (kHasZeros) out.column_zeros[i] = by_row ? 0 : shifted_zero(zero, 0) - kShift;
    }
    if (i < kRows) {
      out.row_scales[i] = by_row ? scales[i] : 1;
      if (kHasZeros) out.row_zeros[i] = shifted_zero(by_row ? zero : 0, f.plan.x.sign);
    }
  }
  return out;
}

/// The codes of row i of a square: of integers 2^23 + (code ^ sign), of floats the value.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void codes_of_row(const FastPlan& f, const Vector<uint32_t, kCount>& words,
                                    uint32_t i, Vector<float, kCount>& out) noexcept {
  if constexpr (kKind == FastKind::floating) {
    Vector<uint32_t, kCount> tops;
    for (int j = 0; j < kCount; ++j) tops[j] = words[j] << (32 - kBits - i * kBits);
    float_values(f.number, tops, out);
  } else {
    for (int j = 0; j < kCount; ++j) {
      const uint32_t word = words[j] ^ f.signs;
      uint32_t shifted = 0;
      if constexpr (kBits == 4) {
        shifted = kShiftBits | (word >> (i * 4) & 15);
      } else {
        shifted = permuted(word, kShiftBits, kBits == 8 ? 0x7650 + i : 0x7610 + i * 0x22);
      }
      out[j] = std::bit_cast<float>(shifted);
    }
  }
}

/// The body of the kernel of squares with simple parameters. Differences are integers below 2^24,
/// so that both subtractions are exact.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void run_simple_square_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  const FastSpot spot = spots[0];
  Vector<uint32_t, kCount> words;
  for (int j = 0; j < kCount; ++j) {
    words[j] = *reinterpret_cast<const Word*>(f.x + spot.x + j * f.column_x);
  }
  const auto params = square_params<kKind, kBits, kCount>(f, spot);
  const bool careful = params.careful || f.number.specials != Specials::none;
  for (int i = 0; i < square_rows(kBits); ++i) {
    Vector<float, kCount> y;
    codes_of_row<kKind, kBits>(f, words, static_cast<uint32_t>(i), y);
    if constexpr (kKind == FastKind::integer) {
      for (int j = 0; j < kCount; ++j) y[j] = y[j] - params.row_zeros[i] - params.column_zeros[j];
    }
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * params.row_scales[i] * params.column_scales[j];
    store_outputs(f.y + spot.y + i * f.row_y, outputs_of(f.plan.output, y, careful));
  }
}

}  // namespace dequant::cuda
