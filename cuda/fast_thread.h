// What one thread of a kernel of a FastPlan does: one vector, or one square.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/fast_plan.h"
#include "cuda/squares.h"
#include "cuda/thread.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#endif

namespace dequant::cuda {

/// The offsets of a thread's vector: bytes, and indices of parameters.
struct FastSpot {
  int64_t x;
  int64_t y;
  uint32_t scale;
  uint32_t zero_point;
};

DEQUANT_HD inline FastSpot fast_spot(const FastPlan& f, uint32_t thread) noexcept {
  FastSpot spot{static_cast<int64_t>(uint64_t{thread} * f.x_step),
                static_cast<int64_t>(uint64_t{thread} * f.y_step), f.scale_origin,
                f.zero_point_origin};
  uint32_t rest = thread;
#if defined(__CUDA_ARCH__)  // the host compiler, which nvcc calls as well, does not know it
#pragma unroll 1
#endif
  for (int d = f.rank - 1; d >= 0; --d) {
    const FastDimension& of = f.dimensions[d];
    const uint32_t outer = d == 0 ? 0 : of.by_size.quotient(rest);
    const uint32_t index = rest - outer * of.size + of.first;
    rest = outer;
    if (!of.counts) continue;
    const uint32_t block = of.block == 1 ? index : of.by_block.quotient(index);
    spot.scale += block * of.scale;
    spot.zero_point += block * of.zero_point;
    if (!of.moves) continue;
    spot.x += index * of.x;
    spot.y += index * of.y;
  }
  return spot;
}

/// kCount codes of kBits bits, whose bytes are aligned to their size, or to 16.
template <int kBits, int kCount>
DEQUANT_HD inline Vector<uint32_t, kCount> aligned_codes(const uint8_t* from) noexcept {
  constexpr int kBytes = kBits * kCount / 8;
  Vector<uint32_t, kCount> out;
  if constexpr (kBytes >= 4) {
    constexpr int kInLoad = kBytes < 16 ? kBytes / 4 : 4;
    struct alignas(4 * kInLoad) [[gnu::may_alias]] Aligned {
      Vector<uint32_t, kInLoad> words;
    };
    constexpr int kInWord = 32 / kBits;
    Vector<Aligned, kBytes / 4 / kInLoad> loaded;
    for (int j = 0; j < kBytes / 4 / kInLoad; ++j) {
      loaded[j] = reinterpret_cast<const Aligned*>(from)[j];
    }
    for (int j = 0; j < kCount; ++j) {
      const uint32_t word = loaded[j / kInWord / kInLoad].words[j / kInWord % kInLoad];
      out[j] = word >> (j % kInWord * kBits) & low_bits(kBits);
    }
  } else {
    const uint32_t word = kBytes == 2 ? *reinterpret_cast<const HalfWord*>(from) : *from;
    for (int j = 0; j < kCount; ++j) out[j] = word >> (j * kBits) & low_bits(kBits);
  }
  return out;
}

/// A float16 or bfloat16 with its bits, a float32 as it is. NaN is some NaN.
DEQUANT_HD inline float float_by(FastParam stored, uint32_t code) noexcept {
  if (stored == FastParam::float32) return std::bit_cast<float>(code);
  return stored == FastParam::float16 ? widen_float16(code) : widen_bfloat16(code);
}

DEQUANT_HD_CALL inline float other_scale(const Computation& p, int64_t i) noexcept {
  return load_scale(p, i);
}

DEQUANT_HD_CALL inline int32_t other_zero(const Computation& p, int64_t i) noexcept {
  return load_integer_zero(p, i);
}

DEQUANT_HD inline float fast_scale(const FastPlan& f, uint32_t i) noexcept {
  if (f.scale == FastParam::other) return other_scale(f.plan, i);
  const uint8_t* data = f.plan.scale.data;
  if (f.scale == FastParam::float32) {
    return std::bit_cast<float>(uint32_t{reinterpret_cast<const Word*>(data)[i]});
  }
  return float_by(f.scale, reinterpret_cast<const HalfWord*>(data)[i]);
}

DEQUANT_HD inline int32_t fast_zero(const FastPlan& f, uint32_t i) noexcept {
  const Codes& codes = f.plan.zero_point;
  switch (f.zero_point) {
    case FastParam::constant: return f.plan.implicit_zero_point;
    case FastParam::bits4: return value_of(codes, codes.data[i >> 1] >> ((i & 1) * 4) & 15);
    case FastParam::bits8: return value_of(codes, codes.data[i]);
    default: return other_zero(f.plan, i);
  }
}

/// fl32(x - zero) of x with 16 bits at most: both are added to 2^23, where floats are integers, and
/// the difference of the sums is exact.
DEQUANT_HD inline float integer_difference(uint32_t code, uint32_t sign, float zero) noexcept {
  return std::bit_cast<float>(0x4B000000 | (code ^ sign)) - zero;
}

/// 2^23 + zero + sign, the subtrahend of integer_difference().
DEQUANT_HD inline float shifted_zero(int32_t zero, uint32_t sign) noexcept {
  return 8388608.0F + static_cast<float>(zero + static_cast<int32_t>(sign));
}

/// The value of a floating-point code, as float_of() computes it; `factor` is 2^(127 - bias).
DEQUANT_HD inline float fast_float(const FastPlan& f, uint32_t code) noexcept {
  const FloatFormat format = f.plan.x.format;
  const uint32_t magnitude = code & low_bits(format.bits - 1);
  const uint32_t sign = (code >> (format.bits - 1)) << 31;
  const float value = std::bit_cast<float>(magnitude << (23 - format.mantissa_bits)) * f.factor;
  uint32_t bits = bits_of(value) | sign;
  if (magnitude >= f.special_from || code == f.special_code) {
    bits = magnitude == f.infinity ? 0x7F800000 | sign : kCanonicalNan;
  }
  return std::bit_cast<float>(bits);
}

#if defined(__CUDA_ARCH__)
template <class Pair>
__device__ inline uint32_t pair_bits(const Pair& pair) noexcept {
  uint32_t bits;
  std::memcpy(&bits, &pair, sizeof bits);
  return bits;
}
#endif

/// Two outputs of 16 bits that are no NaN.
template <Element kOutput>
DEQUANT_HD inline uint32_t narrow_two_numbers(float first, float second) noexcept {
#if defined(__CUDA_ARCH__)
  if constexpr (kOutput == Element::float16) {
    return pair_bits(__floats2half2_rn(first, second));
  }
#if __CUDA_ARCH__ >= 800
  if constexpr (kOutput == Element::bfloat16) {
    return pair_bits(__floats2bfloat162_rn(first, second));
  }
#endif
#endif
  return narrow(kOutput, first) | narrow(kOutput, second) << 16;
}

/// Word j of a vector with the canonical NaN in place of NaN.
template <Element kOutput>
DEQUANT_HD inline uint32_t without_nan(uint32_t word, const Vector<float, kVector<kOutput>>& y,
                                       int j) noexcept {
  constexpr uint32_t kNan = kOutput == Element::float16 ? 0x7E00 : 0x7FC0;
  if (y[2 * j] != y[2 * j]) word = (word & 0xFFFF0000) | kNan;
  if (y[2 * j + 1] != y[2 * j + 1]) word = (word & 0xFFFF) | kNan << 16;
  return word;
}

/// Stores a vector at an address aligned to 16 bytes. No value is NaN unless `careful`.
template <Element kOutput>
DEQUANT_HD inline void store_fast(uint8_t* to, const Vector<float, kVector<kOutput>>& y,
                                  bool careful) noexcept {
  struct alignas(16) [[gnu::may_alias]] Aligned {
    Vector<uint32_t, 4> words;
  };
  Aligned all;
  for (int j = 0; j < 4; ++j) {
    if constexpr (kOutput == Element::float32) {
      all.words[j] = careful ? narrow_float32(y[j]) : bits_of(y[j]);
    } else {
      all.words[j] = narrow_two_numbers<kOutput>(y[2 * j], y[2 * j + 1]);
    }
  }
  if constexpr (kOutput != Element::float32) {
    if (careful) {
      for (int j = 0; j < 4; ++j) all.words[j] = without_nan<kOutput>(all.words[j], y, j);
    }
  }
  *reinterpret_cast<Aligned*>(to) = all;
}

DEQUANT_HD inline bool is_finite(float value) noexcept {
  return (bits_of(value) & 0x7F800000) != 0x7F800000;
}

/// zeros[j] = shifted_zero(zero(j)) of neighbours: the kind of zero points is the same for all.
template <int kCount>
DEQUANT_HD inline void load_zeros(const FastPlan& f, uint32_t first,
                                  Vector<float, kCount>& zeros) noexcept {
  const Codes& codes = f.plan.zero_point;
  const uint32_t sign = f.plan.x.sign;
  const auto each = [&](const auto& code) {
    for (int j = 0; j < kCount; ++j) {
      zeros[j] = shifted_zero(value_of(codes, code(first + static_cast<uint32_t>(j))), sign);
    }
  };
  switch (f.zero_point) {
    case FastParam::constant:
      for (int j = 0; j < kCount; ++j) zeros[j] = shifted_zero(f.plan.implicit_zero_point, sign);
      return;
    case FastParam::bits2:
      return each([&](uint32_t i) { return codes.data[i >> 2] >> ((i & 3) * 2) & 3U; });
    case FastParam::bits4:
      return each([&](uint32_t i) { return codes.data[i >> 1] >> ((i & 1) * 4) & 15U; });
    case FastParam::bits8: return each([&](uint32_t i) { return uint32_t{codes.data[i]}; });
    default:
      return each(
          [&](uint32_t i) { return uint32_t{reinterpret_cast<const HalfWord*>(codes.data)[i]}; });
  }
}

/// The scales of neighbours, none of them `other`.
template <int kCount>
DEQUANT_HD inline void load_scales(const FastPlan& f, uint32_t first,
                                   Vector<float, kCount>& scales) noexcept {
  const uint8_t* data = f.plan.scale.data;
  if (f.scale == FastParam::float32) {
    const auto* from = reinterpret_cast<const Word*>(data) + first;
    for (int j = 0; j < kCount; ++j) scales[j] = std::bit_cast<float>(uint32_t{from[j]});
    return;
  }
  const auto* from = reinterpret_cast<const HalfWord*>(data) + first;
  for (int j = 0; j < kCount; ++j) scales[j] = float_by(f.scale, from[j]);
}

/// What scales multiply: all elements have the zero point of one group.
template <FastKind kKind, int kCount>
DEQUANT_HD inline Vector<float, kCount> fast_values(const FastPlan& f,
                                                    const Vector<uint32_t, kCount>& codes,
                                                    const Vector<float, kCount>& zeros) noexcept {
  Vector<float, kCount> y;
  for (int j = 0; j < kCount; ++j) {
    if constexpr (kKind == FastKind::integer) {
      y[j] = integer_difference(codes[j], f.plan.x.sign, zeros[j]);
    } else if constexpr (kKind == FastKind::floating) {
      y[j] = fast_float(f, codes[j]);
    } else {
      y[j] = load_float32(f.plan.codebook, codes[j]);
    }
  }
  return y;
}

/// The body of the kernel of codes of kBits bits. With kEach every element has its own parameters,
/// which lie one after the other.
template <FastKind kKind, int kBits, bool kEach, Element kOutput>
DEQUANT_HD inline void run_fast_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kCount = kVector<kOutput>;
  const FastSpot spot = fast_spot(f, thread);
  Vector<uint32_t, kCount> codes = aligned_codes<kBits, kCount>(f.x + spot.x);
  if (kBits == 4 && f.high_first) swap_pairs(codes);
  Vector<float, kCount> zeros;
  Vector<float, kCount> y;
  // Products of numbers are numbers.
  bool careful = kKind != FastKind::integer;
  const uint32_t sign = f.plan.x.sign;
  if constexpr (kEach) {
    if constexpr (kKind == FastKind::integer) load_zeros(f, spot.zero_point, zeros);
    Vector<float, kCount> scales;
    load_scales(f, spot.scale, scales);
    y = fast_values<kKind>(f, codes, zeros);
    for (int j = 0; j < kCount; ++j) {
      careful = careful || !is_finite(scales[j]);
      y[j] = y[j] * scales[j];
    }
  } else {
    if constexpr (kKind == FastKind::integer) {
      const float zero = shifted_zero(fast_zero(f, spot.zero_point), sign);
      for (int j = 0; j < kCount; ++j) zeros[j] = zero;
    }
    const float scale = fast_scale(f, spot.scale);
    careful = careful || !is_finite(scale);
    y = fast_values<kKind>(f, codes, zeros);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scale;
  }
  store_fast<kOutput>(f.y + spot.y, y, careful);
}

/// The zero points of a square's rows, as subtrahends of integer_difference().
DEQUANT_HD inline void load_row_zeros(const FastPlan& f, uint32_t first,
                                      Vector<float, kSquareRows>& zeros) noexcept {
  const uint32_t sign = f.plan.x.sign;
  if (f.zero_words) {
    const uint32_t word = reinterpret_cast<const Word*>(f.plan.zero_point.data)[first >> 3];
    for (int i = 0; i < kSquareRows; ++i) {
      const uint32_t code = word >> ((i & 1) * 16 + (i >> 1) * 4) & 15;
      zeros[i] = shifted_zero(value_of(f.plan.zero_point, code), sign);
    }
    return;
  }
  for (int i = 0; i < kSquareRows; ++i) {
    const uint32_t at = first + static_cast<uint32_t>(i) * f.zero_point_step;
    zeros[i] = shifted_zero(fast_zero(f, at), sign);
  }
}

/// The body of the kernel of squares: integers have the parameters of rows, floats of columns.
template <FastKind kKind, Element kOutput>
DEQUANT_HD inline void run_square_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kCount = kVector<kOutput>;
  constexpr bool kByRow = kKind == FastKind::integer;
  constexpr int kScales = kByRow ? kSquareRows : kCount;
  const FastSpot spot = fast_spot(f, thread);
  Vector<uint32_t, kCount> words;
  for (int j = 0; j < kCount; ++j) {
    words[j] = *reinterpret_cast<const Word*>(f.x + spot.x + j * f.column_x);
  }
  Vector<float, kScales> scales;
  bool careful = !kByRow;
  for (int i = 0; i < kScales; ++i) {
    scales[i] = fast_scale(f, spot.scale + static_cast<uint32_t>(i) * f.scale_step);
    careful = careful || !is_finite(scales[i]);
  }
  Vector<float, kSquareRows> row_zeros{};
  if constexpr (kByRow) load_row_zeros(f, spot.zero_point, row_zeros);
  for (int i = 0; i < kSquareRows; ++i) {
    const int shift = f.interleaved ? (i & 1) * 16 + (i >> 1) * 4 : i * 4;
    Vector<uint32_t, kCount> codes;
    Vector<float, kCount> zeros;
    for (int j = 0; j < kCount; ++j) {
      codes[j] = words[j] >> shift & 15;
      zeros[j] = row_zeros[i];
    }
    Vector<float, kCount> y = fast_values<kKind>(f, codes, zeros);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[kByRow ? i : j];
    store_fast<kOutput>(f.y + spot.y + i * f.row_y, y, careful);
  }
}

}  // namespace dequant::cuda
