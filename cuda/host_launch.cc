// cuda::run() on the host, for tests: a launch is a loop over the threads, and memory of the device
// is memory of the host.
#include "cuda/plan/blocks.h"
#include "cuda/plan/fast.h"
#include "cuda/plan/lower.h"
#include "cuda/thread/kernels.h"

namespace dequant::cuda {

Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                 const RunOptions& options) {
  const auto lowered = lower(plan, elements, buffers, options);
  if (!lowered) return lowered.error();
  const DevicePlan& p = *lowered;
  if (p.threads == 0) return {};
  const auto loop = [](const auto& of, int64_t threads) {
    return [&of, threads]<class Body>() -> Status {
      for (int64_t thread = 0; thread < threads; ++thread) Body::run(of, thread);
      return {};
    };
  };
  if (p.has_blocks) {
    return for_each_block_launch(
        p,
        [&](const Computation& single) {
          return loop(single, single.threads).template operator()<BlockElementsBody>();
        },
        [&](const BlockPlan& blocks) {
          return with_blocks_body(blocks, loop(blocks, blocks.threads));
        });
  }
  return for_each_launch(
      p,
      [&](const DevicePlan& general) {
        return with_output<ElementsBody>(general.output, loop(general, general.threads));
      },
      [&](const FastPlan& fast) { return with_fast_body(fast, loop(fast, fast.threads)); });
}

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_sizes(plan, {0, 0}, {}));  // of the plan: its elements can be counted
  return run_range(plan, {0, element_count(plan)}, buffers, options);
}

}  // namespace dequant::cuda
