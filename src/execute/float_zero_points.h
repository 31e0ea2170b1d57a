// Zero points that are floats: x - zero is rounded to the type of the zero points before it is
// scaled. Kernels subtract integers only, so here they decode codes, and scalar code does the rest.
#pragma once

#include <cstdint>

#include "dequant/plan.h"
#include "execute/param_window.h"
#include "kernel/kernel.h"

namespace dequant {

/// Dequantizes `count` codes of type x, which start on a byte, into y. With ScaleLayout::per_group
/// each `group` elements have one entry of `params`, with per_element each element; params.zero
/// holds bit patterns of float32.
void subtract_floats(const Plan& plan, const Table& table, Element x, ScaleLayout scale_layout,
                     const uint8_t* codes, uint8_t* y, int64_t count, int64_t group,
                     const Params& params) noexcept;

}  // namespace dequant
