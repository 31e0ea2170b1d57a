// What one thread of a kernel of squares does, where zero points are stored as x is and scales are
// floats: of codes of 8 and 16 bits, and of integers of 4 bits with the parameters of columns.
#pragma once

#include <cstdint>

#include "cuda/thread/fast_params.h"
#include "cuda/thread/fast_store.h"
#include "cuda/thread/square_thread.h"

namespace dequant::cuda {

/// The code of a zero point that is stored as x is.
template <int kBits>
DEQUANT_HD inline uint32_t plain_code(const uint8_t* data, uint32_t i) noexcept {
  if constexpr (kBits == 16) return reinterpret_cast<const HalfWord*>(data)[i];
  if constexpr (kBits == 8) return data[i];
  return data[i >> 1] >> ((i & 1) * 4) & 15;
}

/// Scales and zero points of kNumber rows or columns.
template <int kNumber>
struct SquareParams {
  Vector<float, kNumber> scales;
  Vector<float, kNumber> zeros;  ///< of integers, subtrahends of 2^23 + (code ^ sign)
  bool careful = false;
};

template <FastKind kKind, int kBits, int kNumber>
DEQUANT_HD inline SquareParams<kNumber> square_params(const FastPlan& f,
                                                      const FastSpot& spot) noexcept {
  constexpr bool kHasZeros = kKind == FastKind::integer;
  SquareParams<kNumber> out;
  const auto scale_at = [&](int i) { return spot.scale + static_cast<uint32_t>(i) * f.scale_step; };
  Vector<uint32_t, kNumber> codes{};
  const bool is_stored = kHasZeros && f.zero_point != FastParam::constant;
  large_floats_at(f.scale, f.plan.scale, scale_at, out.scales);
  if (is_stored) {
    for (int i = 0; i < kNumber; ++i) {
      const uint32_t at = spot.zero_point + static_cast<uint32_t>(i) * f.zero_point_step;
      codes[i] = plain_code<kBits>(f.plan.zero_point.data, at);
    }
  }
  for (int i = 0; i < kNumber; ++i) {
    out.careful = out.careful || !is_finite(out.scales[i]);
    if constexpr (kHasZeros) {
      const int32_t zero = is_stored ? value_of(f.plan.zero_point, codes[i]) : f.constant_zero;
      out.zeros[i] = shifted_zero(zero, f.plan.x.sign);
    }
  }
  return out;
}

/// The results of a square whose rows, or columns, have parameters each.
template <FastKind kKind, int kBits, bool kByRow, int kCount, int kNumber>
DEQUANT_HD inline void run_simple_square(const FastPlan& f, const FastSpot& spot,
                                         const Vector<uint32_t, kCount>& words,
                                         const SquareParams<kNumber>& params) noexcept {
  const bool careful = params.careful || f.number.specials != Specials::none;
  for (int i = 0; i < square_rows(kBits); ++i) {
    Vector<float, kCount> y;
    row_codes<kKind, kBits>(f, words, i * kBits, y);
    if constexpr (kKind == FastKind::integer) {
      for (int j = 0; j < kCount; ++j) y[j] = y[j] - params.zeros[kByRow ? i : j];
    }
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * params.scales[kByRow ? i : j];
    store_outputs(f.y + spot.y + i * f.row_y, outputs_of(f.plan.output, y, careful));
  }
}

/// The squares of a thread, in a loop that keeps the kernel small: they have the same columns.
template <FastKind kKind, int kBits, bool kByRow, int kCount>
DEQUANT_HD inline void run_simple_squares(const FastPlan& f, Square<kCount> square) noexcept {
  constexpr int kRows = square_rows(kBits);
  constexpr int kParams = kByRow ? kRows : kCount;
  const auto load = [&] { return square_params<kKind, kBits, kParams>(f, square.spot); };
  auto params = load();
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int u = 0;;) {
    run_simple_square<kKind, kBits, kByRow>(f, square.spot, square.words, params);
    if (++u == f.units) return;
    square.words = square.second;
    square.spot.y += kRows * f.row_y;
    if constexpr (kByRow) {
      square.spot.scale += kRows * f.scale_step;
      square.spot.zero_point += kRows * f.zero_point_step;
      params = load();
    }
  }
}

/// The body of the kernel of squares with simple parameters.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void run_simple_square_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  const Square<kCount> square = load_square<kCount>(f, thread);
  if constexpr (kBits != 4) {
    if (f.by_row) return run_simple_squares<kKind, kBits, true>(f, square);
  }
  run_simple_squares<kKind, kBits, false>(f, square);
}

}  // namespace dequant::cuda
