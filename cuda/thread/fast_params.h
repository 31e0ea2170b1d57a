// The scales and zero points of a vector: of one group, or a scale and a zero point for each
// element.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "cuda/thread/fast_codes.h"
#include "cuda/thread/fast_spot.h"
#include "cuda/thread/params.h"
#include "cuda/thread/unpack.h"

namespace dequant::cuda {

/// A float16 or bfloat16 with its bits. NaN is some NaN.
DEQUANT_HD inline float half_float(FastParam stored, uint32_t code) noexcept {
  return stored == FastParam::float16 ? widen_float16(code) : widen_bfloat16(code);
}

/// Floats of 16 or 32 bits at some indices of a tensor. How they are stored is decided once, so
/// that the loads follow each other.
template <int kNumber, class Index>
DEQUANT_HD inline void large_floats_at(FastParam stored, const Codes& codes, const Index& index,
                                       Vector<float, kNumber>& out) noexcept {
  if (stored == FastParam::float32) {
    const auto* from = reinterpret_cast<const Word*>(codes.data);
    for (int u = 0; u < kNumber; ++u) out[u] = std::bit_cast<float>(uint32_t{from[index(u)]});
    return;
  }
  Vector<uint32_t, kNumber> loaded;
  const auto* from = reinterpret_cast<const HalfWord*>(codes.data);
  for (int u = 0; u < kNumber; ++u) loaded[u] = from[index(u)];
  for (int u = 0; u < kNumber; ++u) out[u] = half_float(stored, loaded[u]);
}

/// The same, also of 8 bits, of any format.
template <int kNumber, class Index>
DEQUANT_HD inline void floats_at(FastParam stored, const Codes& codes, const Index& index,
                                 Vector<float, kNumber>& out) noexcept {
  if (stored != FastParam::bits8) return large_floats_at(stored, codes, index, out);
  Vector<uint32_t, kNumber> loaded;
  for (int u = 0; u < kNumber; ++u) loaded[u] = codes.data[index(u)];
  for (int u = 0; u < kNumber; ++u) out[u] = float_of(codes.format, loaded[u]);
}

/// The operations of load_scale() on scales as they are stored.
template <int kNumber>
DEQUANT_HD inline void change_scales(const FastPlan& f, Vector<float, kNumber>& scales) noexcept {
  const Computation& p = f.plan;
  if (!f.changes_scale) return;
  if (p.infinite_e8m0) {
    for (int u = 0; u < kNumber; ++u) {
      if (scales[u] != scales[u]) scales[u] = std::numeric_limits<float>::infinity();
    }
  }
  if (p.inverts_scale || p.tensor_scale_use != TensorScale::none) {
    // One division for both: a second one is 90 kB of kernels. No fast plan has both.
    const float of_tensor = p.inverts_scale ? 1.0F : load_float32(p.tensor_scale, 0);
    const bool divides = p.inverts_scale || p.tensor_scale_use == TensorScale::divide;
    for (int u = 0; u < kNumber; ++u) {
      const float above = p.inverts_scale ? 1.0F : scales[u];
      const float below = p.inverts_scale ? scales[u] : of_tensor;
      scales[u] = divides ? above / below : above * below;
    }
  }
  if (!p.rounds_scale) return;
  for (int u = 0; u < kNumber; ++u) scales[u] = round_quickly(p.scale_rounding, scales[u]);
}

/// The scales at some indices, with the operations of load_scale().
template <int kNumber, class Index>
DEQUANT_HD inline void scales_at(const FastPlan& f, const Index& index,
                                 Vector<float, kNumber>& scales) noexcept {
  floats_at(f.scale, f.plan.scale, index, scales);
  change_scales(f, scales);
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
      for (int u = 0; u < kNumber; ++u) zeros[u] = f.constant_zero;
      return;
    case FastParam::bits2:
      return each([&](uint32_t i) { return stored.data[i >> 2] >> ((i & 3) * 2) & 3U; });
    case FastParam::bits4:
      return each([&](uint32_t i) { return stored.data[i >> 1] >> ((i & 1) * 4) & 15U; });
    case FastParam::bits8: return each([&](uint32_t i) { return uint32_t{stored.data[i]}; });
    case FastParam::packed:
      return each([&](uint32_t i) { return code_of_layout(f.zero_layout, i); });
    default:
      return each(
          [&](uint32_t i) { return uint32_t{reinterpret_cast<const HalfWord*>(stored.data)[i]}; });
  }
}

/// 2^23 + zero + sign: what is subtracted from 2^23 + (code ^ sign). Both are integers below 2^24,
/// so that the difference is exact, and rounds nothing: fl32(x - zero). The lowest bits of 3 * 2^22
/// hold numbers up to 2^22 of both signs.
DEQUANT_HD inline float shifted_zero(int32_t zero, uint32_t sign) noexcept {
  constexpr uint32_t kBits = 0x4B400000;
  return std::bit_cast<float>(kBits + static_cast<uint32_t>(zero) + sign) - kShift / 2;
}

/// What is subtracted from a code of 32 bits without its sign bit: zero + sign.
DEQUANT_HD inline int64_t wide_zero(const FastPlan& f, uint32_t i) noexcept {
  int64_t zero = f.constant_zero;
  if (f.zero_point == FastParam::bits32) {
    const uint32_t code = reinterpret_cast<const Word*>(f.plan.zero_point.data)[i];
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
      const float zero = shifted_zero(f.constant_zero, f.plan.x.sign);
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
template <int kSpots>
DEQUANT_HD inline void load_group_scales(const FastPlan& f, const Vector<FastSpot, kSpots>& spots,
                                         Vector<float, kSpots>& scales) noexcept {
  scales_at(
      f, [&](int u) { return spots[u].scale; }, scales);
}

/// Scale and offset of one group, for finish().
template <bool kMayHaveRanges>
DEQUANT_HD inline void load_group_floats(const FastPlan& f, const Vector<FastSpot, 1>& spots,
                                         Vector<float, 1>& scales,
                                         Vector<float, 1>& offsets) noexcept {
  const Computation& p = f.plan;
  if (kMayHaveRanges && p.difference == Difference::shifted) {
    const auto index = [&](int) { return spots[0].scale; };
    Vector<float, 1> min, max;
    large_floats_at(f.scale, p.scale, index, min);
    large_floats_at(f.scale, p.max_range, index, max);
    const ScaleAndOffset both = range_params_of(p.rule, p.limits, min[0], max[0]);
    scales[0] = both.scale;
    offsets[0] = adds_offset(p.rule) ? both.offset : -0.0F;  // -0 changes no sum
    return;
  }
  load_group_scales(f, spots, scales);
  if (f.offset == FastParam::constant) return;
  const auto index = [&](int) { return spots[0].zero_point; };
  large_floats_at(f.offset, p.zero_point, index, offsets);
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

/// The scales of neighbours, of 16 or 32 bits.
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
