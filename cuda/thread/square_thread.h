// What one thread of a kernel of squares does.
#pragma once

#include <bit>
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
DEQUANT_HD inline void load_square_zeros(const FastPlan& f, uint32_t first,
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

/// The place of a thread's first square, the columns of that square in x, and the columns of the
/// second square where FastPlan::units is 2.
template <int kCount>
struct Square {
  FastSpot spot;
  Vector<uint32_t, kCount> words;
  Vector<uint32_t, kCount> second;
};

template <int kCount>
DEQUANT_HD inline Square<kCount> load_square(const FastPlan& f, uint32_t thread) noexcept {
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  Square<kCount> out{spots[0], {}, {}};
  const uint8_t* from = f.x + out.spot.x;
  if (f.units == 1) {
    for (int j = 0; j < kCount; ++j) {
      out.words[j] = *reinterpret_cast<const Word*>(from + j * f.column_x);
    }
    return out;
  }
  for (int j = 0; j < kCount; ++j) {
    const auto both = load_stored<32, 2>(from + j * f.column_x);
    out.words[j] = both.words[0];
    out.second[j] = both.words[1];
  }
  return out;
}

/// The codes of a row of a square, `shift` bits from the lowest of each word: of integers
/// 2^23 + (code ^ sign), of floats the value.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void row_codes(const FastPlan& f, const Vector<uint32_t, kCount>& words,
                                 int shift, Vector<float, kCount>& out) noexcept {
  if constexpr (kKind == FastKind::floating) {
    Vector<uint32_t, kCount> tops;
    for (int j = 0; j < kCount; ++j) tops[j] = words[j] << (32 - kBits - shift);
    float_values(f.number, tops, out);
  } else {
    const uint32_t row = static_cast<uint32_t>(shift) / kBits;
    for (int j = 0; j < kCount; ++j) {
      const uint32_t word = words[j] ^ f.signs;
      uint32_t shifted = 0;
      if constexpr (kBits == 4) {
        shifted = kShiftBits | (word >> shift & 15);
      } else {
        shifted = permuted(word, kShiftBits, kBits == 8 ? 0x7650 + row : 0x7610 + row * 0x22);
      }
      out[j] = std::bit_cast<float>(shifted);
    }
  }
}

/// The results of a square of codes of 4 bits.
template <FastKind kKind, int kCount>
DEQUANT_HD inline void run_square(const FastPlan& f, const FastSpot& spot,
                                  const Vector<uint32_t, kCount>& words) noexcept {
  constexpr bool kByRow = kKind == FastKind::integer;
  constexpr int kScales = kByRow ? kSquareRows : kCount;
  Vector<float, kScales> scales;
  const auto scale_at = [&](int i) { return spot.scale + static_cast<uint32_t>(i) * f.scale_step; };
  if constexpr (kByRow) {
    large_floats_at(f.scale, f.plan.scale, scale_at, scales);
    change_scales(f, scales);
  } else {
    scales_at(f, scale_at, scales);
  }
  bool careful = false;
  for (int i = 0; i < kScales; ++i) careful = careful || !is_finite(scales[i]);
  Vector<float, kSquareRows> row_zeros{};
  if constexpr (kByRow) load_square_zeros(f, spot.zero_point, row_zeros);
  for (int i = 0; i < kSquareRows; ++i) {
    const int shift = f.interleaved ? (i & 1) * 16 + (i >> 1) * 4 : i * 4;
    Vector<float, kCount> y;
    row_codes<kKind, 4>(f, words, shift, y);
    if constexpr (kByRow) {
      for (int j = 0; j < kCount; ++j) y[j] = y[j] - row_zeros[i];
    }
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[kByRow ? i : j];
    store_outputs(f.y + spot.y + i * f.row_y, outputs_of(f.plan.output, y, careful));
  }
}

/// The body of the kernel of these: integers have the parameters of rows, floats of columns. A loop
/// over the squares of a thread keeps the kernel small.
template <FastKind kKind, int kCount>
DEQUANT_HD inline void run_square_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Square<kCount> square = load_square<kCount>(f, thread);
  if constexpr (kKind == FastKind::floating) {
    run_square<kKind>(f, square.spot, square.words);
  } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int u = 0; u < f.units; ++u) {
      run_square<kKind>(f, square.spot, square.words);
      square.words = square.second;
      square.spot.y += kSquareRows * f.row_y;
      square.spot.scale += kSquareRows * f.scale_step;
      square.spot.zero_point += kSquareRows * f.zero_point_step;
    }
  }
}

}  // namespace dequant::cuda
