// Results of 16 bits of codes of at most four bits: the results of all codes of a group are
// computed once, and the result of each element is looked up.
#pragma once

#include <cstdint>

#include "execute/stages.h"

namespace dequant {

/// True if run_looked_up() takes a call of run_stages(), and is faster:
/// checkpoint/uint4/*/bias_of_64, checkpoint/uint8/*/slabs_4_of_64.
bool looks_up(const Stages& stages, const ProductKernel& kernel, ScaleLayout scale_layout,
              int64_t group, int64_t count) noexcept;

/// run_stages() with ScaleLayout::per_group, where looks_up() is true.
void run_looked_up(const Stages& stages, const ProductKernel& kernel, const uint8_t* codes,
                   uint8_t* y, int64_t count, int64_t group, const Params& params) noexcept;

}  // namespace dequant
