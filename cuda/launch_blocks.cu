// The kernels of blocks.
#include "cuda/kernel_launch.cuh"

namespace dequant::cuda {

Status launch_blocks(const Computation& p, CUstream_st* stream) {
  return with_blocks_body(p, [&]<class Body>() -> Status { return launch<Body>(p, stream); });
}

}  // namespace dequant::cuda
