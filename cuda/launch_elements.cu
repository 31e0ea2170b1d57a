// The kernels of elements.
#include "cuda/kernel_launch.cuh"

namespace dequant::cuda {

Status launch_elements(const DevicePlan& p, CUstream_st* stream) {
  return with_output<ElementsBody>(p.output,
                                   [&]<class Body>() -> Status { return launch<Body>(p, stream); });
}

}  // namespace dequant::cuda
