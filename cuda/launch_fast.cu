// The kernels of a FastPlan.
#include "cuda/kernel_launch.cuh"

namespace dequant::cuda {

Status launch_fast(const FastPlan& f, CUstream_st* stream) {
  return with_fast_body(f, [&]<class Body>() -> Status { return launch<Body>(f, stream); });
}

}  // namespace dequant::cuda
