// Starting kernels.
#pragma once

#include "cuda/device_plan.h"
#include "dequant/status.h"

struct CUstream_st;

namespace dequant::cuda {

/// Launches the kernel of a DevicePlan with threads, and reports what the runtime says at once.
Status launch_elements(const DevicePlan& p, CUstream_st* stream);
Status launch_blocks(const DevicePlan& p, CUstream_st* stream);

}  // namespace dequant::cuda
