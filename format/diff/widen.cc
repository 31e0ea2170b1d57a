// Converting numbers of the output types to float32.
#include "format/diff/widen.h"

#include <bit>
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

}  // namespace dequant::format
