// A kernel for each body, and its launch.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/launch.h"
#include "cuda/thread/kernels.h"
#include "text.h"

namespace dequant::cuda {

/// Blocks that fit on a multiprocessor: sm_75 has 1,024 threads, others 1,536 or more.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
inline constexpr int kMostBlocks = 4;
#else
inline constexpr int kMostBlocks = 6;
#endif

template <class Body, class Plan>
__global__ void __launch_bounds__(kThreadsOfBlock,
                                  Body::kBlocks < kMostBlocks ? Body::kBlocks : kMostBlocks)
    kernel(const __grid_constant__ Plan p) {
  const int64_t thread = int64_t{blockIdx.x} * kThreadsOfBlock + threadIdx.x;
  if (thread < p.threads) Body::run(p, thread);
}

/// Fails with unsupported if the runtime refuses the launch, as without a device.
template <class Body, class Plan>
Status launch(const Plan& p, CUstream_st* stream) {
  const int64_t blocks = (int64_t{p.threads} + kThreadsOfBlock - 1) / kThreadsOfBlock;
  // More would be 2^31 * 256 * 16 bytes of y.
  if (blocks > INT32_MAX) return invalid("elements: ", int64_t{p.threads}, " vectors are too many");
  // Not cudaGetLastError(): that may be the error of an earlier call of somebody else.
  const void* arguments[] = {&p};
  const cudaError_t error = cudaLaunchKernel(
      reinterpret_cast<const void*>(&kernel<Body, Plan>), dim3(static_cast<unsigned>(blocks)),
      dim3(kThreadsOfBlock), const_cast<void**>(arguments), 0, stream);
  if (error == cudaSuccess) return {};
  (void)cudaGetLastError();  // nor is this one the next caller's
  return Error{ErrorCode::unsupported, concat("cuda: ", cudaGetErrorString(error))};
}

}  // namespace dequant::cuda
