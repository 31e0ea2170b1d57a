// From stored scales and zero points to the float32 scales and int32 zero points of kernels, by the
// operations of Parameters in include/dequant/parameters.h.
#pragma once

#include <cstdint>

#include "dequant/plan.h"

namespace dequant {

/// True if zero points are floats. load_zeros() gives them as bit patterns of float32.
bool has_float_zero_points(const Plan& plan) noexcept;

/// True if zero points are stored and x is an integer. Else all are plan.implicit_zero_point.
bool has_zero_points(const Plan& plan) noexcept;

/// True if kernels of Table::kernels give the results of a plan: it has no stages and no codebook.
bool has_plain_kernels(const Plan& plan) noexcept;

/// True if scales are the stored ones, neither products with a tensor scale nor rounded.
bool scales_are_stored(const Plan& plan) noexcept;

/// True if every scale is a number of the output's type.
bool scales_are_of_output(const Plan& plan) noexcept;

/// True if zero points are the stored ones, of the element of x, without an offset and a Packing.
bool zero_points_are_stored(const Plan& plan) noexcept;

/// `count` scales as float32: those at the indices i, i + stride, i + 2 * stride, ...
void load_scales(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                 float* out) noexcept;

/// `count` zero points as int32, at the same indices; plan.implicit_zero_point if none are stored.
/// uint32 and float zero points as bit patterns.
void load_zeros(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                int32_t* out) noexcept;

/// Applies infinite_e8m0, reciprocal_scale, the tensor scale and scale_rounding to `count` decoded
/// scales.
void finish_scales(const Plan& plan, const Buffers& buffers, int64_t count, float* scales) noexcept;

/// Adds the offset to `count` decoded zero points, by ZeroPointOverflow::keep or wrap.
void finish_zeros(const Plan& plan, int64_t count, int32_t* zeros) noexcept;

}  // namespace dequant
