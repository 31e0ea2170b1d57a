// The scales and zero points of a vector: those of one group, or one for each element.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cuda/fast_codes.h"
#include "cuda/fast_spot.h"
#include "cuda/params.h"

namespace dequant::cuda {

DEQUANT_HD inline bool is_finite(float value) noexcept {
  return std::fabs(value) < std::numeric_limits<float>::infinity();
}

DEQUANT_HD_CALL inline float other_scale(const Computation& p, int64_t i) noexcept {
  return load_scale(p, i);
}

DEQUANT_HD_CALL inline int32_t other_zero(const Computation& p, int64_t i) noexcept {
  return load_integer_zero(p, i);
}

/// A float16 or bfloat16 with its bits. NaN is some NaN.
DEQUANT_HD inline float half_float(FastParam stored, uint32_t code) noexcept {
  return stored == FastParam::float16 ? widen_float16(code) : widen_bfloat16(code);
}

/// The scales at some indices. How they are stored is decided once, so that the loads follow each
/// other.
template <int kNumber, class Index>
DEQUANT_HD inline void scales_at(const FastPlan& f, const Index& index,
                                 Vector<float, kNumber>& scales) noexcept {
  const uint8_t* data = f.plan.scale.data;
  if (f.scale == FastParam::float32) {
    const auto* from = reinterpret_cast<const Word*>(data);
    for (int u = 0; u < kNumber; ++u) scales[u] = std::bit_cast<float>(uint32_t{from[index(u)]});
  } else if (f.scale != FastParam::other) {
    const auto* from = reinterpret_cast<const HalfWord*>(data);
    Vector<uint32_t, kNumber> codes;
    for (int u = 0; u < kNumber; ++u) codes[u] = from[index(u)];
    for (int u = 0; u < kNumber; ++u) scales[u] = half_float(f.scale, codes[u]);
  } else {
    for (int u = 0; u < kNumber; ++u) scales[u] = other_scale(f.plan, index(u));
  }
}

/// The integer zero points at some indices, with their offset.
template <int kNumber, class Index>
DEQUANT_HD inline void zeros_at(const FastPlan& f, const Index& index,
                                Vector<int32_t, kNumber>& zeros) noexcept {
  const Codes& stored = f.plan.zero_point;
  const auto each = [&](const auto& code) {
    Vector<uint32_t, kNumber> codes;
    for (int u = 0; u < kNumber; ++u) codes[u] = code(index(u));
    const auto offset = static_cast<uint32_t>(f.plan.zero_point_offset);
    if (f.wraps) {
      for (int u = 0; u < kNumber; ++u) {
        zeros[u] = value_of(stored, (codes[u] + offset) & low_bits(stored.bits));
      }
      return;
    }
    for (int u = 0; u < kNumber; ++u) {
      zeros[u] = value_of(stored, codes[u]) + f.plan.zero_point_offset;
    }
  };
  switch (f.zero_point) {
    case FastParam::constant:
      for (int u = 0; u < kNumber; ++u) zeros[u] = f.plan.implicit_zero_point;
      return;
    case FastParam::bits2:
      return each([&](uint32_t i) { return stored.data[i >> 2] >> ((i & 3) * 2) & 3U; });
    case FastParam::bits4:
      return each([&](uint32_t i) { return stored.data[i >> 1] >> ((i & 1) * 4) & 15U; });
    case FastParam::bits8: return each([&](uint32_t i) { return uint32_t{stored.data[i]}; });
    case FastParam::bits16:
      return each(
          [&](uint32_t i) { return uint32_t{reinterpret_cast<const HalfWord*>(stored.data)[i]}; });
    default:
      for (int u = 0; u < kNumber; ++u) zeros[u] = other_zero(f.plan, index(u));
  }
}

/// 2^23 + zero + sign: what is subtracted from 2^23 + (code ^ sign). Both are integers below 2^24,
/// so that the difference is exact, and rounds nothing: fl32(x - zero).
DEQUANT_HD inline float shifted_zero(int32_t zero, uint32_t sign) noexcept {
  return kShift + static_cast<float>(zero + static_cast<int32_t>(sign));
}

/// What is subtracted from a code of 32 bits without its sign bit: zero + sign.
DEQUANT_HD inline int64_t wide_zero(const FastPlan& f, uint32_t i) noexcept {
  int64_t zero = f.plan.implicit_zero_point;
  if (f.zero_point != FastParam::constant) {
    const uint32_t code = f.zero_point == FastParam::bits32
                              ? reinterpret_cast<const Word*>(f.plan.zero_point.data)[i]
                              : code_at(f.plan.zero_point, i);
    zero = wide_value_of(f.plan.zero_point, code);
  }
  return zero + static_cast<int64_t>(f.plan.x.sign);
}

/// shifted_zero() of neighbours, which are stored without offsets, with the sign of x.
template <int kCount>
DEQUANT_HD inline void load_zeros(const FastPlan& f, uint32_t first,
                                  Vector<float, kCount>& zeros) noexcept {
  const uint8_t* data = f.plan.zero_point.data;
  const auto load = [&]<int kBits>() {
    const uint8_t* from = data + uint64_t{first} * kBits / 8;
    shifted_codes<kBits, kCount>(load_stored<kBits, kCount>(from), f.zero_signs, zeros);
  };
  switch (f.zero_point) {
    case FastParam::constant: {
      const float zero = shifted_zero(f.plan.implicit_zero_point, f.plan.x.sign);
      for (int j = 0; j < kCount; ++j) zeros[j] = zero;
      return;
    }
    case FastParam::bits2: return load.template operator()<2>();
    case FastParam::bits4: return load.template operator()<4>();
    case FastParam::bits8: return load.template operator()<8>();
    default: return load.template operator()<16>();
  }
}

/// The scales of vectors with the parameters of a group each.
template <int kNumber>
DEQUANT_HD inline void load_group_scales(const FastPlan& f, const Vector<FastSpot, kNumber>& spots,
                                         Vector<float, kNumber>& scales) noexcept {
  scales_at(
      f, [&](int u) { return spots[u].scale; }, scales);
}

/// Their zero points, as subtrahends of 2^23 + (code ^ sign).
template <int kNumber>
DEQUANT_HD inline void load_group_zeros(const FastPlan& f, const Vector<FastSpot, kNumber>& spots,
                                        Vector<float, kNumber>& zeros) noexcept {
  Vector<int32_t, kNumber> integers;
  zeros_at(
      f, [&](int u) { return spots[u].zero_point; }, integers);
  for (int u = 0; u < kNumber; ++u) zeros[u] = shifted_zero(integers[u], f.plan.x.sign);
}

/// The same of codes of 32 bits.
template <int kNumber>
DEQUANT_HD inline void load_group_zeros(const FastPlan& f, const Vector<FastSpot, kNumber>& spots,
                                        Vector<int64_t, kNumber>& zeros) noexcept {
  for (int u = 0; u < kNumber; ++u) zeros[u] = wide_zero(f, spots[u].zero_point);
}

/// wide_zero() of neighbours.
template <int kCount>
DEQUANT_HD inline void load_zeros(const FastPlan& f, uint32_t first,
                                  Vector<int64_t, kCount>& zeros) noexcept {
  if (f.zero_point == FastParam::constant) {
    for (int j = 0; j < kCount; ++j) zeros[j] = wide_zero(f, first);
    return;
  }
  const auto stored = load_stored<32, kCount>(f.plan.zero_point.data + uint64_t{first} * 4);
  const auto sign = static_cast<int64_t>(f.plan.x.sign);
  for (int j = 0; j < kCount; ++j) {
    zeros[j] = wide_value_of(f.plan.zero_point, stored.words[j]) + sign;
  }
}

/// The scales of neighbours, none of them `other`.
template <int kCount>
DEQUANT_HD inline void load_scales(const FastPlan& f, uint32_t first,
                                   Vector<float, kCount>& scales) noexcept {
  const uint8_t* data = f.plan.scale.data;
  if (f.scale == FastParam::float32) {
    const auto stored = load_stored<32, kCount>(data + uint64_t{first} * 4);
    for (int j = 0; j < kCount; ++j) scales[j] = std::bit_cast<float>(stored.words[j]);
    return;
  }
  const auto stored = load_stored<16, kCount>(data + uint64_t{first} * 2);
  for (int j = 0; j < kCount; ++j) scales[j] = half_float(f.scale, code_of(stored, j));
}

}  // namespace dequant::cuda
