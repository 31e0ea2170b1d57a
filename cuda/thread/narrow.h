// Rounding of float32 to the output types, with few instructions; encode_float() defines the
// results.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "element/float_code.h"
#include "host_device.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace dequant::cuda {

DEQUANT_HD inline uint32_t bits_of(float value) noexcept { return std::bit_cast<uint32_t>(value); }

DEQUANT_HD inline bool is_finite(float value) noexcept {
  return std::fabs(value) < std::numeric_limits<float>::infinity();
}

DEQUANT_HD inline uint32_t narrow_float32(float value) noexcept {
  return value != value ? kCanonicalNan : bits_of(value);
}

/// Half of the last place that stays, less one if the place is even, is added before the lower half
/// is cut off. Infinity has no lower half, and the largest numbers become infinity by the carry.
DEQUANT_HD inline uint32_t narrow_bfloat16(float value) noexcept {
  if (value != value) return kCanonicalNan >> 16;
  const uint32_t bits = bits_of(value);
  return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

/// Devices have an instruction for it.
DEQUANT_HD inline uint32_t narrow_float16(float value) noexcept {
  if (value != value) return 0x7E00;
#if defined(__CUDA_ARCH__)
  return __half_as_ushort(__float2half_rn(value));
#else
  return encode_float({16, 5, 10, 15, Specials::ieee}, value);
#endif
}

/// The float32 of a float16 and of a bfloat16 that are no NaN.
DEQUANT_HD inline float widen_float16(uint32_t code) noexcept {
#if defined(__CUDA_ARCH__)
  return __half2float(__ushort_as_half(static_cast<unsigned short>(code)));
#else
  return decode_float({16, 5, 10, 15, Specials::ieee}, code);
#endif
}

DEQUANT_HD inline float widen_bfloat16(uint32_t code) noexcept {
  return std::bit_cast<float>(code << 16);
}

/// rounded_to() of a type of outputs. NaN stays some NaN.
DEQUANT_HD inline float round_quickly(FloatFormat format, float value) noexcept {
  if (format.bits == 32) return value;
  if (format.mantissa_bits == 10) return widen_float16(narrow_float16(value));
  return widen_bfloat16(narrow_bfloat16(value));
}

}  // namespace dequant::cuda
