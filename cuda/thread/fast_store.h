// The outputs of a vector, in one store of 16 bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/thread/vectors.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#endif

namespace dequant::cuda {

#if defined(__CUDA_ARCH__)
template <class Pair>
__device__ inline uint32_t pair_bits(const Pair& pair) noexcept {
  uint32_t bits;
  std::memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/// Ones in place of each half of a word that is NaN.
template <class Pair>
__device__ inline uint32_t nan_mask(uint32_t word) noexcept {
  Pair pair;
  std::memcpy(&pair, &word, sizeof word);
  return __hneu2_mask(pair, pair);
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

/// The same with each NaN the canonical one. On devices the word says which are NaN, as conversions
/// make some NaN of NaN; older ones cannot compare two bfloat16 at once.
template <Element kOutput>
DEQUANT_HD inline uint32_t with_canonical_nan(uint32_t word, float first, float second) noexcept {
  constexpr uint32_t kNan = kOutput == Element::float16 ? 0x7E00 : 0x7FC0;
#if defined(__CUDA_ARCH__)
  constexpr uint32_t kBoth = kNan << 16 | kNan;
  if constexpr (kOutput == Element::float16) {
    const uint32_t nan = nan_mask<__half2>(word);
    return (word & ~nan) | (kBoth & nan);
  }
#if __CUDA_ARCH__ >= 900
  if constexpr (kOutput == Element::bfloat16) {
    const uint32_t nan = nan_mask<__nv_bfloat162>(word);
    return (word & ~nan) | (kBoth & nan);
  }
#endif
#endif
  if (first != first) word = (word & 0xFFFF0000) | kNan;
  if (second != second) word = (word & 0xFFFF) | kNan << 16;
  return word;
}

/// 16 bytes of y.
struct alignas(16) [[gnu::may_alias]] Outputs {
  Vector<uint32_t, 4> words;
};

/// The outputs of a vector. No value is NaN unless `careful`.
template <Element kOutput>
DEQUANT_HD inline Outputs outputs_of(const Vector<float, kVector<kOutput>>& y,
                                     bool careful) noexcept {
  Outputs all;
  const auto each = [&](const auto& word) {
    for (int j = 0; j < 4; ++j) all.words[j] = word(j);
  };
  if constexpr (kOutput == Element::float32) {
    each([&](int j) { return bits_of(y[j]); });
    if (careful) each([&](int j) { return narrow_float32(y[j]); });
  } else {
    each([&](int j) { return narrow_two_numbers<kOutput>(y[2 * j], y[2 * j + 1]); });
    if (careful) {
      each(
          [&](int j) { return with_canonical_nan<kOutput>(all.words[j], y[2 * j], y[2 * j + 1]); });
    }
  }
  return all;
}

/// The same of any output with so many elements in a vector.
template <int kCount>
DEQUANT_HD inline Outputs outputs_of(Element output, const Vector<float, kCount>& y,
                                     bool careful) noexcept {
  if constexpr (kCount == kVector<Element::float32>) {
    return outputs_of<Element::float32>(y, careful);
  } else {
    if (output == Element::float16) return outputs_of<Element::float16>(y, careful);
    return outputs_of<Element::bfloat16>(y, careful);
  }
}

/// At an address aligned to 16 bytes.
DEQUANT_HD inline void store_outputs(uint8_t* to, const Outputs& outputs) noexcept {
  *reinterpret_cast<Outputs*>(to) = outputs;
}

template <Element kOutput>
DEQUANT_HD inline void store_fast(uint8_t* to, const Vector<float, kVector<kOutput>>& y,
                                  bool careful) noexcept {
  store_outputs(to, outputs_of<kOutput>(y, careful));
}

}  // namespace dequant::cuda
