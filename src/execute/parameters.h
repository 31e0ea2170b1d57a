// From what is stored beside x to one float32 scale and one zero point each, by the operations of
// Parameters. Kernels know nothing of these.
#pragma once

#include <cstdint>

#include "dequant/plan.h"

namespace dequant {

/// True for zero points that are floats: they are loaded as the bit patterns of float32, and
/// subtracted by src/execute/float_zero_points.h.
bool has_float_zero_points(const Plan& plan) noexcept;

/// True where zero points are no constant: stored, and of an integer x.
bool has_zero_points(const Plan& plan) noexcept;

/// True if scales are what is stored, so that a scale of y's element is a number that y has.
bool scales_are_stored(const Plan& plan) noexcept;

/// The same of zero points, and that their element is that of x.
bool zero_points_are_stored(const Plan& plan) noexcept;

/// `count` scales as float32, the first at index i, the others `stride` apart.
void load_scales(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                 float* out) noexcept;

/// The same for zero points; where there are none, the plan's implicit one. Of uint32: bit
/// patterns.
void load_zeros(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                int32_t* out) noexcept;

/// What Parameters do to `count` scales that were decoded.
void finish_scales(const Plan& plan, const Buffers& buffers, int64_t count, float* scales) noexcept;

/// The same of zero points that carry nothing into others.
void finish_zeros(const Plan& plan, int64_t count, int32_t* zeros) noexcept;

}  // namespace dequant
