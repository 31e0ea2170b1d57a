// Zero points that are floats: the difference is rounded to their type before it is scaled. Kernels
// subtract integers, so they only decode here.
#pragma once

#include <cstdint>

#include "dequant/plan.h"
#include "execute/param_window.h"
#include "kernel/kernel.h"

namespace dequant {

/// Dequantizes `count` codes of x, which start on a byte, into y: groups of `group` elements have a
/// scale and a zero point each, or, with ScaleLayout::per_element, elements.
void subtract_floats(const Plan& plan, const Table& table, Element x, ScaleLayout scale_layout,
                     const uint8_t* codes, uint8_t* y, int64_t count, int64_t group,
                     const Params& params) noexcept;

}  // namespace dequant
