// safetensors files in the making: right or wrong, byte for byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dequant::testing {

/// The eight bytes of a length.
inline std::string length_bytes(uint64_t length) {
  std::string out;
  for (int k = 0; k < 8; ++k)
    out += static_cast<char>(static_cast<unsigned char>(length >> (8 * k)));
  return out;
}

/// Length, text and data, with no padding of its own.
inline std::string safetensors_file(std::string_view text, std::string_view data = {}) {
  return length_bytes(text.size()).append(text).append(data);
}

/// `"name":{...}` of a tensor; dtype, shape and offsets as the file spells them.
inline std::string safetensors_entry(std::string_view name, std::string_view dtype,
                                     std::string_view shape, std::string_view offsets) {
  return std::string("\"")
      .append(name)
      .append("\":{\"dtype\":\"")
      .append(dtype)
      .append("\",\"shape\":")
      .append(shape)
      .append(",\"data_offsets\":")
      .append(offsets)
      .append("}");
}

/// The header text of one tensor "a".
inline std::string safetensors_text(std::string_view dtype, std::string_view shape,
                                    std::string_view offsets) {
  return "{" + safetensors_entry("a", dtype, shape, offsets) + "}";
}

}  // namespace dequant::testing
