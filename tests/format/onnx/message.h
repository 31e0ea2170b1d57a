// Protobuf messages byte by byte, and files in memory to read them from.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "format/onnx/wire.h"

namespace dequant::testing {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value > 0x7F; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}

inline std::string key(uint64_t number, unsigned wire) { return varint(number << 3 | wire); }

/// A varint field.
inline std::string num(uint64_t number, int64_t value) {
  std::string out = key(number, 0);
  return out.append(varint(static_cast<uint64_t>(value)));
}

/// A length-delimited field.
inline std::string sub(uint64_t number, std::string_view payload) {
  std::string out = key(number, 2);
  return out.append(varint(payload.size())).append(payload);
}

/// A file in memory; nothing of it is left when it is closed.
inline format::InputFile memory_file(std::string_view bytes) {
  format::Descriptor fd(::memfd_create("message", MFD_CLOEXEC));
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(fd.get(), bytes.data() + at, bytes.size() - at);
    if (n <= 0) {
      ADD_FAILURE() << "cannot write to memory";
      break;
    }
    at += static_cast<size_t>(n);
  }
  return format::InputFile::adopt(std::move(fd), "memory").value();
}

inline format::onnx::Source source_of(std::string_view bytes) {
  return format::onnx::Source(memory_file(bytes));
}

}  // namespace dequant::testing
