// Division by a number that does not change, as a multiplication: devices have no division.
#pragma once

#include <bit>
#include <cstdint>

#include "host_device.h"

namespace dequant::cuda {

/// The upper 64 bits of a product.
DEQUANT_HD inline uint64_t multiply_high(uint64_t a, uint64_t b) noexcept {
#if defined(__CUDA_ARCH__)
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(a) * b >> 64);
#endif
}

/// n / d for n in [0, 2^63) and d in [1, 2^63). With s = ceil(log2 d) the multiplier m is
/// ceil(2^(63 + s) / d), so that m * d exceeds 2^(63 + s) by at most d - 1 < 2^s, and
/// floor(n * m / 2^(63 + s)) is the quotient (Granlund and Montgomery, 1994, theorem 4.2).
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t d) noexcept {
    const auto divisor = static_cast<uint64_t>(d);
    shift_ = static_cast<uint32_t>(std::bit_width(divisor - 1));
    __extension__ using Wide = unsigned __int128;
    const Wide numerator = Wide{1} << (63 + shift_);
    multiplier_ = static_cast<uint64_t>((numerator + divisor - 1) / divisor);
  }

  DEQUANT_HD int64_t quotient(int64_t n) const noexcept {
    const auto twice = static_cast<uint64_t>(n) << 1;
    return static_cast<int64_t>(multiply_high(twice, multiplier_) >> shift_);
  }

 private:
  uint64_t multiplier_ = uint64_t{1} << 63;  ///< of 1
  uint32_t shift_ = 0;
};

/// The same for n and d below 2^31, with 32-bit numbers.
class SmallDivisor {
 public:
  SmallDivisor() = default;
  explicit SmallDivisor(uint32_t d) noexcept {
    shift_ = static_cast<uint32_t>(std::bit_width(d - 1));
    multiplier_ = static_cast<uint32_t>(((uint64_t{1} << (31 + shift_)) + d - 1) / d);
  }

  DEQUANT_HD uint32_t quotient(uint32_t n) const noexcept {
#if defined(__CUDA_ARCH__)
    return __umulhi(n << 1, multiplier_) >> shift_;
#else
    return static_cast<uint32_t>(uint64_t{n << 1} * multiplier_ >> 32) >> shift_;
#endif
  }

 private:
  uint32_t multiplier_ = uint32_t{1} << 31;  ///< of 1
  uint32_t shift_ = 0;
};

}  // namespace dequant::cuda
