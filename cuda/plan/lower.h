// From a plan and buffers to what kernels take.
#pragma once

#include "cuda/plan/device_plan.h"
#include "dequant/cuda.h"

namespace dequant::cuda {

/// The DevicePlan of a range of elements, with the number of its threads. All checks are made here.
/// A plan without elements has no threads.
Result<DevicePlan> lower(const Plan& plan, Range elements, const Buffers& buffers,
                         const RunOptions& options);

}  // namespace dequant::cuda
