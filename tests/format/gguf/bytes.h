// GGUF files in the making: right or wrong, byte for byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dequant::testing {

/// The bytes of numbers, lowest byte first unless `big`.
struct GgufBytes {
  bool big = false;

  std::string number(uint64_t value, int bytes) const {
    std::string out;
    for (int k = 0; k < bytes; ++k)
      out += static_cast<char>(static_cast<unsigned char>(value >> (8 * k)));
    if (big) std::reverse(out.begin(), out.end());
    return out;
  }
  std::string u32(uint64_t value) const { return number(value, 4); }
  std::string u64(uint64_t value) const { return number(value, 8); }
  std::string text(std::string_view text) const { return u64(text.size()).append(text); }

  /// Magic, version and counts.
  std::string head(uint64_t tensors, uint64_t pairs, uint32_t version = 3) const {
    return "GGUF" + u32(version) + u64(tensors) + u64(pairs);
  }
  /// A pair of a number, a text, or anything else whose bytes are given.
  std::string pair(std::string_view key, uint32_t type, std::string_view value) const {
    return (text(key) + u32(type)).append(value);
  }
  std::string array(uint32_t element, uint64_t count, std::string_view elements) const {
    return (u32(element) + u64(count)).append(elements);
  }
  /// `dims` as files have them: the fastest first.
  std::string tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
                     uint64_t offset) const {
    std::string out = text(name) + u32(dims.size());
    for (const uint64_t size : dims) out += u64(size);
    return out + u32(type) + u64(offset);
  }
  /// The header with zeros up to the data.
  static std::string padded(std::string header, size_t alignment = 32) {
    header.resize((header.size() + alignment - 1) / alignment * alignment);
    return header;
  }
  /// A file of one tensor "a" without metadata.
  std::string one(const std::vector<uint64_t>& dims, uint32_t type, std::string_view data,
                  uint64_t offset = 0) const {
    return padded(head(1, 0) + tensor("a", dims, type, offset)).append(data);
  }
};

// The numbers of types that tests need.
inline constexpr uint32_t kGgufF32 = 0, kGgufQ4_0 = 2, kGgufI8 = 24;
inline constexpr uint32_t kGgufU8Value = 0, kGgufU16Value = 2, kGgufU32Value = 4, kGgufI32Value = 5,
                          kGgufBoolValue = 7, kGgufTextValue = 8, kGgufArrayValue = 9,
                          kGgufU64Value = 10;

}  // namespace dequant::testing
