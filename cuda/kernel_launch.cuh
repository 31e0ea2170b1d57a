// A kernel for each body, and its launch.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "text.h"

namespace dequant::cuda {

inline constexpr int kThreadsOfBlock = 256;

template <class Body>
__global__ void __launch_bounds__(kThreadsOfBlock, 4) kernel(const __grid_constant__ DevicePlan p) {
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kThreadsOfBlock + threadIdx.x;
  if (thread < p.threads) Body::run(p, thread);
}

/// Fails with unsupported if the runtime refuses the launch, as without a device.
template <class Body>
Status launch(const DevicePlan& p, CUstream_st* stream) {
  const int64_t blocks = (p.threads + kThreadsOfBlock - 1) / kThreadsOfBlock;
  // More would be 2^31 * 256 * 16 bytes of y.
  if (blocks > INT32_MAX) return invalid("elements: ", p.threads, " vectors are too many");
  kernel<Body><<<static_cast<unsigned>(blocks), kThreadsOfBlock, 0, stream>>>(p);
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return {};
  return Error{ErrorCode::unsupported, concat("cuda: ", cudaGetErrorString(error))};
}

}  // namespace dequant::cuda
