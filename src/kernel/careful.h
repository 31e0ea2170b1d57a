// What kernels need rarely, compiled once for all of them: scales that are not plain, and what is left
// behind the last whole group of vectors.
#pragma once

#include "kernel/row.h"

namespace dequant {

/// A row's element and output: bits of a code, bytes of a result, and how float32 results, whole groups
/// of them, become those of the output.
struct Careful {
  int x_bits;
  size_t y_size;
  void (*finish)(const float* results, size_t count, uint8_t* y);
};

/// A row of any scales and offsets. `float_row` is the same row to float32, whose results are right but
/// for the bits of NaNs.
void careful_row(const RowArgs& a, Leaf leaf, RowFn float_row, const Careful& how);

/// Copies `bytes` and fills up to `capacity` with zeros.
void copy_padded(const void* from, size_t bytes, void* to, size_t capacity);

void copy_bytes(const void* from, size_t bytes, void* to);

}  // namespace dequant
