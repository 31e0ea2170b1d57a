// Launching the kernel of a plan.
#pragma once

#include "cuda/plan/block_plan.h"
#include "cuda/plan/fast_plan.h"
#include "dequant/status.h"

struct CUstream_st;

namespace dequant::cuda {

/// Launches the kernel of a plan with threads, and reports what the runtime says at once.
Status launch_elements(const DevicePlan& p, CUstream_st* stream);
Status launch_fast(const FastPlan& f, CUstream_st* stream);
Status launch_blocks(const BlockPlan& p, CUstream_st* stream);
Status launch_block_elements(const Computation& p, CUstream_st* stream);

}  // namespace dequant::cuda
