// .npy files in the making: right or wrong, byte for byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/element.h"

namespace dequant::testing {

/// Magic, version, length, header text and data, with no padding of its own.
inline std::string npy_file(std::string_view text, std::string_view data = {}, int version = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int k = 0; k < (version == 1 ? 2 : 4); ++k) out += static_cast<char>(text.size() >> (8 * k));
  return out.append(text).append(data);
}

/// The header text that numpy writes, less the padding.
inline std::string npy_text(std::string_view descr, std::string_view shape,
                            std::string_view fortran = "False") {
  std::string out = "{'descr': '";
  out.append(descr).append("', 'fortran_order': ").append(fortran).append(", 'shape': ");
  return out.append(shape).append(", }\n");
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> out(values.size() * sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), values.data(), out.size());
  return out;
}

template <class T>
std::string text_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace dequant::testing
