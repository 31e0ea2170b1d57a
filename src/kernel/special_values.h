// Code that kernels rarely run, compiled once for all kernels: for scales that are not finite and
// normal, and for the remainder after the last whole step.
#pragma once

#include "kernel/kernel.h"

namespace dequant {

/// The input and the output of a kernel.
struct SpecialValues {
  int x_bits;     ///< of a code
  size_t y_size;  ///< bytes of a result
  /// Makes every NaN canonical, rounds any float32 results to the output and stores them to y.
  /// `results` and y have room for whole steps.
  void (*finish)(const float* results, size_t count, uint8_t* y);
};

/// A kernel for any scales and offsets. `float_kernel` is the same kernel with the output float32.
/// Its results have the right bits for all scales, but for the bits of NaNs.
void special_values_kernel(const KernelArgs& a, ScaleLayout scale_layout, KernelFn float_kernel,
                           const SpecialValues& types);

/// Copies `bytes` bytes, and fills `to` up to `capacity` bytes with zeros.
void copy_padded(const void* from, size_t bytes, void* to, size_t capacity);

void copy_bytes(const void* from, size_t bytes, void* to);

}  // namespace dequant
