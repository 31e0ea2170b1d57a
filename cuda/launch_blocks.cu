// The kernels of blocks.
#include "cuda/kernel_launch.cuh"

namespace dequant::cuda {

Status launch_blocks(const BlockPlan& p, CUstream_st* stream) {
  return with_blocks_body(p, [&]<class Body>() -> Status { return launch<Body>(p, stream); });
}

Status launch_block_elements(const Computation& p, CUstream_st* stream) {
  return launch<BlockElementsBody>(p, stream);
}

}  // namespace dequant::cuda
