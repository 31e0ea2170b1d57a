// Packed codes: little-endian from 8 bits on, lowest bits first below.
#include "format/io/codes.h"

namespace dequant::format {

uint32_t load_code(Element element, std::span<const std::byte> packed, int64_t index) {
  const int width = bits(element);
  const auto i = static_cast<size_t>(index);
  if (width < 8) {
    const auto per_byte = static_cast<size_t>(8 / width);
    const auto byte = std::to_integer<uint32_t>(packed[i / per_byte]);
    return (byte >> (i % per_byte * static_cast<size_t>(width))) & ((1u << width) - 1);
  }
  const auto size = static_cast<size_t>(width / 8);
  uint32_t code = 0;
  for (size_t k = 0; k < size; ++k) {
    code |= std::to_integer<uint32_t>(packed[i * size + k]) << (8 * k);
  }
  return code;
}

void store_code(Element element, std::span<std::byte> packed, int64_t index, uint32_t code) {
  const int width = bits(element);
  const auto i = static_cast<size_t>(index);
  if (width < 8) {
    const auto per_byte = static_cast<size_t>(8 / width);
    const auto shift = i % per_byte * static_cast<size_t>(width);
    const auto mask = static_cast<std::byte>(((1u << width) - 1) << shift);
    std::byte& byte = packed[i / per_byte];
    byte = (byte & ~mask) | (static_cast<std::byte>(code << shift) & mask);
    return;
  }
  const auto size = static_cast<size_t>(width / 8);
  for (size_t k = 0; k < size; ++k) packed[i * size + k] = static_cast<std::byte>(code >> (8 * k));
}

void unpack_to_bytes(Element element, std::span<const std::byte> packed,
                     std::span<std::byte> bytes) {
  const auto width = static_cast<unsigned>(bits(element));
  const unsigned per_byte = 8 / width;
  const unsigned mask = (1u << width) - 1;
  // Adding and taking away the sign bit repeats it in all bits above.
  const unsigned sign = kind(element) == Kind::signed_integer ? 1u << (width - 1) : 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = std::to_integer<unsigned>(packed[i / per_byte]);
    const unsigned code = (byte >> (i % per_byte * width)) & mask;
    bytes[i] = static_cast<std::byte>((code ^ sign) - sign);
  }
}

}  // namespace dequant::format
