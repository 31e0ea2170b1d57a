// Converting between the output types.
#include "format/model/floats.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace dequant::format {
namespace {

float widened_float16(uint16_t code) {
  const uint32_t magnitude = code & 0x7fffu;
  const uint32_t sign = static_cast<uint32_t>(code & 0x8000u) << 16;
  const uint32_t subnormal = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  const uint32_t normal = (magnitude << 13) + (112u << 23);  // exponent biases differ by 112
  const uint32_t special = (magnitude << 13) | 0x7f800000u;
  const uint32_t bits = magnitude < 0x400 ? subnormal : magnitude < 0x7c00 ? normal : special;
  return std::bit_cast<float>(bits | sign);
}

float widened_bfloat16(uint16_t code) {
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
}

uint32_t narrowed_float32(float value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
}

/// Rounds off the low bits of an encoding to nearest, ties to even. A carry goes into the exponent,
/// which is right, also where it makes infinity.
uint32_t rounded_off(uint32_t bits, int low) {
  const uint32_t half = (1u << (low - 1)) - 1;
  return (bits + half + (bits >> low & 1)) >> low;
}

uint16_t narrowed_bfloat16(float value) {
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>(rounded_off(std::bit_cast<uint32_t>(value), 16));
}

uint16_t narrowed_float16(float value) {
  if (std::isnan(value)) return 0x7e00;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 2^16 and more
  if (magnitude >= 0x38800000u) {  // 2^-14, the least normal number; exponent biases differ by 112
    return static_cast<uint16_t>(sign | rounded_off(magnitude - (112u << 23), 13));
  }
  // The sum with 0.5 has the step of subnormal numbers, 2^-24, so that the addition rounds to it.
  const float sum = std::bit_cast<float>(magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
}

template <class Code, auto kNarrowed>
void narrow(std::span<const float> numbers, std::span<std::byte> out) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Code code = kNarrowed(numbers[i]);
    std::memcpy(out.data() + i * sizeof code, &code, sizeof code);
  }
}

template <float (*kWidened)(uint16_t)>
void widen(std::span<const std::byte> bytes, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t code = 0;
    std::memcpy(&code, bytes.data() + 2 * i, sizeof code);
    out[i] = kWidened(code);
  }
}

}  // namespace

void widen(Element element, std::span<const std::byte> bytes, std::span<float> out) {
  if (element == Element::float16) return widen<widened_float16>(bytes, out);
  if (element == Element::bfloat16) return widen<widened_bfloat16>(bytes, out);
  std::memcpy(out.data(), bytes.data(), out.size_bytes());
}

void narrow(Element element, std::span<const float> numbers, std::span<std::byte> out) {
  if (element == Element::float16) return narrow<uint16_t, narrowed_float16>(numbers, out);
  if (element == Element::bfloat16) return narrow<uint16_t, narrowed_bfloat16>(numbers, out);
  narrow<uint32_t, narrowed_float32>(numbers, out);
}

}  // namespace dequant::format
