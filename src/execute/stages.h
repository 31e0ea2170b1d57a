// Plans with more arithmetic than kernels have: float zero points, a second factor, results that
// are rounded twice. A tile of float32 products by a kernel, then one operation after the other on
// the tile, which stays in the nearest cache.
#pragma once

#include <cstdint>

#include "dequant/plan.h"
#include "execute/param_window.h"
#include "kernel/kernel.h"

namespace dequant {

/// True if a kernel alone does not give the results of a plan.
bool has_stages(const Plan& plan) noexcept;

/// The kernels for float32 products of some codes.
struct ProductKernel {
  KernelFn kernel;     ///< of the scale layout
  KernelFn of_groups;  ///< of ScaleLayout::per_group
  const float* lut;    ///< KernelArgs::lut
  int64_t width;       ///< bits of a code
};

/// What the stages of a plan share.
struct Stages {
  const Plan& plan;
  const Table& table;
  bool stream;  ///< results are streamed
};

/// Dequantizes `count` codes, which start on a byte, into y. With ScaleLayout::per_group each
/// `group` elements have one entry of `params`, with per_element each element. Float zero points
/// are bits of float32 in params.zero.
void run_stages(const Stages& stages, const ProductKernel& kernel, ScaleLayout scale_layout,
                const uint8_t* codes, uint8_t* y, int64_t count, int64_t group,
                const Params& params) noexcept;

}  // namespace dequant
