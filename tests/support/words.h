// Codes in 32-bit words, written bit by bit: slow, and independent of the library.
#pragma once

#include <cstdint>
#include <vector>

#include "support/packed.h"

namespace dequant::testing {

/// A matrix of words, row-major.
class WordMatrix {
 public:
  WordMatrix(int64_t rows, int64_t columns)
      : columns_(columns), bytes_(static_cast<size_t>(rows * columns * 4)) {}

  /// Sets bit `bit` of the word at a row and a column to that of a code.
  void put(int64_t row, int64_t column, int64_t bit, uint32_t code, int of_code) {
    if (((code >> of_code) & 1u) == 0) return;
    const int64_t byte = (row * columns_ + column) * 4 + bit / 8;
    bytes_[static_cast<size_t>(byte)] |= std::byte{1} << (bit % 8);
  }

  const Bytes& bytes() const { return bytes_; }

 private:
  int64_t columns_;
  Bytes bytes_;
};

}  // namespace dequant::testing
