// Strided plans: tensors with a stride in memory for each dimension.
#pragma once

#include "execute/chunk.h"

namespace dequant {

/// Dequantizes elements of job.region: a chunk, as a range of the loop orders of both phases.
void run_strided(const Job& job, Range elements) noexcept;

}  // namespace dequant
