// What one thread of a kernel of squares does, where zero points are stored as x is and scales are
// floats: of codes of 8 and 16 bits, and of integers of 4 bits with the parameters of columns.
#pragma once

#include <cstdint>

#include "cuda/thread/fast_params.h"
#include "cuda/thread/fast_store.h"
#include "cuda/thread/square_thread.h"

namespace dequant::cuda {

/// The parameters of rows and of columns: parameters that the plan does not have change no result.
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

/// Parameters of rows and of columns are loaded by the same instructions. A square has more of the
/// one than of the other: the fewer ones are loaded repeatedly.
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

/// The body of the kernel of squares with simple parameters. Differences are integers below 2^24,
/// so that both subtractions are exact.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void run_simple_square_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  const Square<kCount> square = load_square<kCount>(f, thread);
  const FastSpot& spot = square.spot;
  const auto params = square_params<kKind, kBits, kCount>(f, spot);
  const bool careful = params.careful || f.number.specials != Specials::none;
  for (int i = 0; i < square_rows(kBits); ++i) {
    Vector<float, kCount> y;
    row_codes<kKind, kBits>(f, square.words, i * kBits, y);
    if constexpr (kKind == FastKind::integer) {
      for (int j = 0; j < kCount; ++j) y[j] = y[j] - params.row_zeros[i] - params.column_zeros[j];
    }
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * params.row_scales[i] * params.column_scales[j];
    store_outputs(f.y + spot.y + i * f.row_y, outputs_of(f.plan.output, y, careful));
  }
}

}  // namespace dequant::cuda
