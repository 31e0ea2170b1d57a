// What reading a range of a file gives, as one text to compare.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "format/io/file.h"

namespace dequant::testing {

/// The bytes [offset, offset + size), or the message of the error.
inline std::string range_text(const format::InputFile& file, int64_t offset, size_t size) {
  std::string out(size, '?');
  const auto status = file.read(offset, std::as_writable_bytes(std::span(out)));
  return status ? out : status.error().message;
}

}  // namespace dequant::testing
