// cuda::run() on the host, for tests: a launch is a loop over the threads, and memory of the device
// is memory of the host.
#include "cuda/kernels.h"
#include "cuda/lower.h"

namespace dequant::cuda {

Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                 const RunOptions& options) {
  const auto lowered = lower(plan, elements, buffers, options);
  if (!lowered) return lowered.error();
  const DevicePlan& p = *lowered;
  const auto launch = [&]<class Body>() {
    for (int64_t thread = 0; thread < p.threads; ++thread) Body::run(p, thread);
  };
  if (p.has_blocks) {
    with_blocks_body(p, launch);
  } else {
    with_output<ElementsBody>(p.output, launch);
  }
  return {};
}

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_sizes(plan, {0, 0}, {}));  // of the plan: its elements can be counted
  return run_range(plan, {0, element_count(plan)}, buffers, options);
}

}  // namespace dequant::cuda
