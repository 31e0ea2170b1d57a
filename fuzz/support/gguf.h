// GGUF files from numbers, and a naive reader of their headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/support/cursor.h"

namespace dequant::fuzz {

/// The bytes of a file. Either the rest of the input is the file, or pairs and tensors that are
/// mostly right are made of it, in either order of bytes.
std::string gguf_file(Cursor& cursor);

struct NaiveTensor {
  std::string name;
  uint32_t type = 0;
  std::vector<uint64_t> shape;  ///< as numpy has it
  uint64_t offset = 0;          ///< in the file
  uint64_t bytes = 0;
};

/// The tensors of a file, if it is as the specification and header.h say. Reads the whole file at
/// once, by the list of types of the specification.
std::optional<std::vector<NaiveTensor>> gguf_tensors(std::string_view file);

}  // namespace dequant::fuzz
