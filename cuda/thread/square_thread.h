// What one thread of a kernel of squares does.
#pragma once

#include <cstdint>

#include "cuda/plan/squares.h"
#include "cuda/thread/fast_codes.h"
#include "cuda/thread/fast_params.h"
#include "cuda/thread/fast_spot.h"
#include "cuda/thread/fast_store.h"

namespace dequant::cuda {

/// Rows of a square of codes of 4 bits.
inline constexpr int kSquareRows = square_rows(4);

/// The zero points of a square's rows, as subtrahends of 2^23 + (code ^ sign).
DEQUANT_HD inline void load_row_zeros(const FastPlan& f, uint32_t first,
                                      Vector<float, kSquareRows>& zeros) noexcept {
  const uint32_t sign = f.plan.x.sign;
  if (f.zero_words) {
    const uint32_t word = reinterpret_cast<const Word*>(f.plan.zero_point.data)[first >> 3];
    for (int i = 0; i < kSquareRows; ++i) {
      const uint32_t code = word >> ((i & 1) * 16 + (i >> 1) * 4) & 15;
      zeros[i] = shifted_zero(value_of(f.plan.zero_point, code) + f.plan.zero_point_offset, sign);
    }
    return;
  }
  Vector<int32_t, kSquareRows> integers;
  zeros_at(
      f, [&](int i) { return first + static_cast<uint32_t>(i) * f.zero_point_step; }, integers);
  for (int i = 0; i < kSquareRows; ++i) zeros[i] = shifted_zero(integers[i], sign);
}

/// What scales multiply, of the codes of row i of a square, which lie `shift` bits from the lowest.
template <FastKind kKind, int kCount>
DEQUANT_HD inline void row_values(const FastPlan& f, const Vector<uint32_t, kCount>& words,
                                  int shift, float zero, Vector<float, kCount>& out) noexcept {
  if constexpr (kKind == FastKind::integer) {
    for (int j = 0; j < kCount; ++j) {
      const uint32_t code = (words[j] ^ f.signs) >> shift & 15;
      out[j] = std::bit_cast<float>(kShiftBits | code) - zero;
    }
  } else {
    Vector<uint32_t, kCount> tops;
    for (int j = 0; j < kCount; ++j) tops[j] = words[j] << (28 - shift);
    float_values(f.number, tops, out);
  }
}

/// The body of the kernel of squares of codes of 4 bits: integers have the parameters of rows,
/// floats of columns.
template <FastKind kKind, int kCount>
DEQUANT_HD inline void run_square_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr bool kByRow = kKind == FastKind::integer;
  constexpr int kScales = kByRow ? kSquareRows : kCount;
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  const FastSpot spot = spots[0];
  Vector<uint32_t, kCount> words;
  for (int j = 0; j < kCount; ++j) {
    words[j] = *reinterpret_cast<const Word*>(f.x + spot.x + j * f.column_x);
  }
  Vector<float, kScales> scales;
  scales_at(
      f, [&](int i) { return spot.scale + static_cast<uint32_t>(i) * f.scale_step; }, scales);
  bool careful = false;
  for (int i = 0; i < kScales; ++i) careful = careful || !is_finite(scales[i]);
  Vector<float, kSquareRows> row_zeros{};
  if constexpr (kByRow) load_row_zeros(f, spot.zero_point, row_zeros);
  for (int i = 0; i < kSquareRows; ++i) {
    const int shift = f.interleaved ? (i & 1) * 16 + (i >> 1) * 4 : i * 4;
    Vector<float, kCount> y;
    row_values<kKind>(f, words, shift, row_zeros[i], y);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[kByRow ? i : j];
    store_outputs(f.y + spot.y + i * f.row_y, outputs_of(f.plan.output, y, careful));
  }
}

/// The parameters of rows and of columns: those that the plan does not have change no result.
template <int kRows, int kCount>
struct SquareParams {
  Vector<float, kRows> row_scales;
  Vector<float, kRows> row_zeros;  ///< subtrahends of 2^23 + (code ^ sign)
  Vector<float, kCount> column_scales;
  Vector<float, kCount> column_zeros;
  bool careful = false;
};

/// Rows and columns have one way to load them, with repeated rows where they are fewer. Zero points
/// are stored as codes are.
template <int kBits, int kRows, int kCount>
DEQUANT_HD inline SquareParams<kRows, kCount> square_params(const FastPlan& f,
                                                            const FastSpot& spot) noexcept {
  static_assert(kRows <= kCount && kCount % kRows == 0);
  const bool by_row = f.by_row;
  const Codes& stored = f.plan.zero_point;
  const auto at = [&](uint32_t first, int i, uint32_t step) {
    return first + static_cast<uint32_t>(by_row ? i % kRows : i) * step;
  };
  Vector<float, kCount> scales;
  Vector<uint32_t, kCount> codes{};
  const auto scale_at = [&](int i) { return at(spot.scale, i, f.scale_step); };
  if (f.scale == FastParam::float32) {
    floats_at(FastParam::float32, f.plan.scale, scale_at, scales);
  } else {
    const bool is_float16 = f.scale == FastParam::float16;
    floats_at(is_float16 ? FastParam::float16 : FastParam::bfloat16, f.plan.scale, scale_at,
              scales);
  }
  if (f.zero_point != FastParam::constant) {
    for (int i = 0; i < kCount; ++i) {
      const uint32_t index = at(spot.zero_point, i, f.zero_point_step);
      codes[i] =
          kBits == 8 ? stored.data[index] : reinterpret_cast<const HalfWord*>(stored.data)[index];
    }
  }
  SquareParams<kRows, kCount> out;
  const uint32_t sign = f.plan.x.sign;
  for (int i = 0; i < kCount; ++i) {
    const bool is_stored = f.zero_point != FastParam::constant;
    const int32_t zero = is_stored ? value_of(stored, codes[i]) : f.constant_zero;
    out.careful = out.careful || !is_finite(scales[i]);
    out.column_scales[i] = by_row ? 1 : scales[i];
    out.column_zeros[i] = by_row ? 0 : shifted_zero(zero, 0) - kShift;
    if (i >= kRows) continue;
    out.row_scales[i] = by_row ? scales[i] : 1;
    out.row_zeros[i] = shifted_zero(by_row ? zero : 0, sign);
  }
  return out;
}

/// The body of the kernel of squares of integers of 8 and 16 bits. Differences are integers below
/// 2^24, so that both subtractions are exact.
template <int kBits, int kCount>
DEQUANT_HD inline void run_wide_square_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kRows = square_rows(kBits);
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  const FastSpot spot = spots[0];
  Vector<uint32_t, kCount> words;
  for (int j = 0; j < kCount; ++j) {
    words[j] = *reinterpret_cast<const Word*>(f.x + spot.x + j * f.column_x);
  }
  const auto params = square_params<kBits, kRows, kCount>(f, spot);
  for (int i = 0; i < kRows; ++i) {
    const auto row = static_cast<uint32_t>(i);
    const uint32_t places = kBits == 8 ? 0x7650 + row : 0x7610 + row * 0x22;
    Vector<float, kCount> y;
    for (int j = 0; j < kCount; ++j) {
      const uint32_t shifted = permuted(words[j] ^ f.signs, kShiftBits, places);
      y[j] = std::bit_cast<float>(shifted) - params.row_zeros[i] - params.column_zeros[j];
      y[j] = y[j] * params.row_scales[i] * params.column_scales[j];
    }
    store_outputs(f.y + spot.y + i * f.row_y, outputs_of(f.plan.output, y, params.careful));
  }
}

}  // namespace dequant::cuda
