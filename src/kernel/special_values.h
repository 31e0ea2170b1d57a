// What kernels need rarely, compiled once for all of them: scales that are not finite and normal,
// and what is left behind the last whole step.
#pragma once

#include "kernel/kernel.h"

namespace dequant {

/// A kernel's element and output: bits of a code, bytes of a result, and how float32 results, whole
/// groups of them, become those of the output.
struct SpecialValues {
  int x_bits;
  size_t y_size;
  void (*finish)(const float* results, size_t count, uint8_t* y);
};

/// A kernel for any scales and offsets. `float_kernel` is the same kernel to float32, whose results
/// are right but for the bits of NaNs.
void special_values_kernel(const KernelArgs& a, ScaleLayout scale_layout, KernelFn float_kernel,
                           const SpecialValues& how);

/// Copies `bytes` and fills up to `capacity` with zeros.
void copy_padded(const void* from, size_t bytes, void* to, size_t capacity);

void copy_bytes(const void* from, size_t bytes, void* to);

}  // namespace dequant
