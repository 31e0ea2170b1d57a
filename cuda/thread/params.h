// The scale and the zero point of an element, from the stored tensors: decoded exactly, then the
// producer's own operations.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "cuda/thread/codes.h"
#include "dequant/cuda.h"

namespace dequant::cuda {

/// What one element, or some neighbours, are computed with. Registers are scarce: no rule has an
/// integer and a float beside the scale.
struct Params {
  float scale = 1;
  /// The integer that is subtracted before the product, of 32-bit codes as stored; or the bits of
  /// a float zero point, or of the offset of a range.
  uint32_t zero = 0;

  DEQUANT_HD int32_t integer_zero() const noexcept { return static_cast<int32_t>(zero); }
  DEQUANT_HD float float_zero() const noexcept { return std::bit_cast<float>(zero); }
};

/// Sets bits of the caller's faults.
DEQUANT_HD inline void report(const Computation& p, Fault fault) noexcept {
#if defined(__CUDA_ARCH__)
  atomicOr(p.faults, static_cast<uint32_t>(fault));
#else
  *p.faults |= static_cast<uint32_t>(fault);
#endif
}

DEQUANT_HD inline float load_float(const Codes& codes, int64_t i) noexcept {
  return float_of(codes.format, quick_code_at(codes, i));
}

DEQUANT_HD inline float load_scale(const Computation& p, int64_t i) noexcept {
  float scale = load_float(p.scale, i);
  if (p.infinite_e8m0 && scale != scale) scale = std::numeric_limits<float>::infinity();
  if (p.inverts_scale) scale = 1.0F / scale;
  if (p.tensor_scale_use == TensorScale::multiply) {
    scale = scale * load_float32(p.tensor_scale, 0);
  } else if (p.tensor_scale_use == TensorScale::divide) {
    scale = scale / load_float32(p.tensor_scale, 0);
  }
  return p.rounds_scale ? round_quickly(p.scale_rounding, scale) : scale;
}

DEQUANT_HD inline int32_t load_integer_zero(const Computation& p, int64_t i) noexcept {
  const Codes& codes = p.zero_point;
  if (p.zero_point_overflow == ZeroPointOverflow::carry) {
    const int in_word = 32 / codes.bits;
    const uint32_t word = load_word(codes.data + i / in_word * 4);
    return carried_zero_point(codes.bits, word, static_cast<int>(i % in_word),
                              static_cast<uint32_t>(p.zero_point_offset));
  }
  const uint32_t code = quick_code_at(codes, i);
  if (p.zero_point_overflow == ZeroPointOverflow::wrap) {
    const uint32_t sum = code + static_cast<uint32_t>(p.zero_point_offset);
    return value_of(codes, sum & low_bits(codes.bits));
  }
  if (codes.bits == 32) return static_cast<int32_t>(code);
  return value_of(codes, code) + p.zero_point_offset;
}

DEQUANT_HD inline Params range_params_at(const Computation& p, int64_t i) noexcept {
  const ScaleAndOffset both =
      range_params_of(p.rule, p.limits, load_float(p.scale, i), load_float(p.max_range, i));
  // -0 changes no sum.
  return {both.scale, bits_of(adds_offset(p.rule) ? both.offset : -0.0F)};
}

/// True if a float zero point is subtracted before the product, or added or subtracted after it.
DEQUANT_HD inline bool has_float_zero(const Computation& p) noexcept {
  return p.difference == Difference::float_zero || p.adds_zero_point || p.subtracts_zero_point;
}

/// The parameters at indices of the stored scales and zero points.
DEQUANT_HD inline Params params_at(const Computation& p, int64_t scale, int64_t zero) noexcept {
  if (p.difference == Difference::shifted) return range_params_at(p, scale);
  if (p.difference == Difference::formula) return {};
  Params out{load_scale(p, scale), static_cast<uint32_t>(p.implicit_zero_point)};
  if (!p.loads_zero_point) return out;
  if (p.checks_zero_point) {
    const uint32_t code = code_at(p.zero_point, zero);
    // As is_floating_zero_point(): -0 is none of a float6.
    const bool is_zero =
        code == 0 || (p.zero_point.bits != 6 && float_of(p.zero_point.format, code) == 0);
    if (!is_zero) report(p, Fault::zero_point);
  } else if (has_float_zero(p)) {
    out.zero = bits_of(load_float(p.zero_point, zero));
  } else {
    out.zero = static_cast<uint32_t>(load_integer_zero(p, zero));
  }
  return out;
}

}  // namespace dequant::cuda
