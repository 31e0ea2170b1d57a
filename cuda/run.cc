// cuda::run(): checks, then a launch on the caller's stream.
#include "cuda/launch.h"
#include "cuda/plan/blocks.h"
#include "cuda/plan/fast.h"
#include "cuda/plan/lower.h"

namespace dequant::cuda {

Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                 const RunOptions& options) {
  const auto lowered = lower(plan, elements, buffers, options);
  if (!lowered) return lowered.error();
  if (lowered->threads == 0) return {};
  if (lowered->has_blocks) {
    return for_each_block_launch(
        *lowered, [&](const Computation& p) { return launch_block_elements(p, options.stream); },
        [&](const BlockPlan& p) { return launch_blocks(p, options.stream); });
  }
  return for_each_launch(
      *lowered, [&](const DevicePlan& p) { return launch_elements(p, options.stream); },
      [&](const FastPlan& f) { return launch_fast(f, options.stream); });
}

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_sizes(plan, {0, 0}, {}));  // of the plan: its elements can be counted
  return run_range(plan, {0, element_count(plan)}, buffers, options);
}

}  // namespace dequant::cuda
