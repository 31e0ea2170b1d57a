// The door of execution: every check before the first write, then chunks for the executor.
#include <algorithm>

#include "checked.h"
#include "dequant/plan.h"
#include "element/traits.h"
#include "execute/cache.h"
#include "execute/check.h"
#include "execute/chunk.h"
#include "execute/float_environment.h"
#include "execute/tasks.h"
#include "kernel/targets.h"
#include "text.h"

namespace dequant {
namespace {

/// Output bytes of a chunk: about what a core's L2 cache holds.
constexpr int64_t kChunkBytes = 256 << 10;
/// The same of large outputs that are streamed: they never stay in a cache, and what is done once for a
/// chunk, as converting scales, is done less often.
constexpr int64_t kStreamedChunkBytes = 1 << 20;
constexpr int64_t kLargeBytes = 64 << 20;
static_assert(kSimpleElements * 4 <= kChunkBytes, "a simple tensor is one chunk");

/// What the buffers of run_range() hold.
Extents extents_of(const Plan& plan, Range elements, Range scales) {
  const int64_t count = elements.end - elements.begin;
  const int64_t sides = scales.end - scales.begin;
  const bool ranges = takes_ranges(plan.rule);
  return {.x = count,
          .scale = ranges ? 0 : sides,
          .zero_point = plan.has_zero_point ? sides : 0,
          .min_range = ranges ? sides : 0,
          .max_range = ranges ? sides : 0,
          .y = count};
}

/// Bytes of an element of y.
int64_t y_width(const Plan& plan) { return traits(plan.output).format.bits / 8; }

bool use_streaming(Stores stores, int64_t y_bytes) {
  if (stores == Stores::automatic) return y_bytes > cached_output_bytes();
  return stores == Stores::streaming;
}

/// The chunks of a call.
struct Chunks {
  const Job& job;
  int64_t row;   ///< of which each chunk has some columns; 0: chunks follow each other
  int64_t size;  ///< elements of a chunk, a multiple of 64, or columns
  size_t count;  ///< of chunks

  void run(size_t i) const noexcept {
    const int64_t at = static_cast<int64_t>(i) * size;
    if (row != 0) return run_columns(job, {at, std::min(at + size, row)});
    const int64_t begin = job.elements.begin + at;
    run_chunk(job, {begin, std::min(begin + size, job.elements.end)});
  }

  static void run_one(void* self, size_t i) { static_cast<const Chunks*>(self)->run(i); }
};

/// Hands several chunks to the caller's threads; what an executor left out would be garbage in y.
Status run_parallel(Chunks& chunks, const Executor& executor) {
  // Executors may touch the state of this thread too; chunks care for their own threads.
  const FloatEnvironment environment;
  Tasks tasks(Chunks::run_one, &chunks, chunks.count);
  executor.parallel_for(executor.self, tasks.count(), Tasks::run, &tasks);
  const size_t finished = tasks.finished();
  if (finished == tasks.count()) return {};
  return invalid("executor: returned after ", finished, " of ", tasks.count(),
                 " tasks; y is incomplete");
}

Status run_chunks(const Job& job, const Executor& executor) {
  const auto [begin, end] = job.elements;
  if ((end - begin) * y_width(job.plan) <= kChunkBytes) {
    if (begin < end) run_chunk(job, job.elements);
    return {};
  }
  const bool large = job.stream && (end - begin) * y_width(job.plan) >= kLargeBytes;
  const int64_t row = row_of_columns(job);
  const int64_t size =
      row != 0 ? kColumns : (large ? kStreamedChunkBytes : kChunkBytes) / y_width(job.plan);
  const int64_t all = row != 0 ? row : end - begin;
  Chunks chunks{job, row, size, static_cast<size_t>(ceil_div(all, size))};
  if (executor.parallel_for != nullptr) return run_parallel(chunks, executor);
  for (size_t i = 0; i < chunks.count; ++i) chunks.run(i);
  return {};
}

Status run_checked(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan));
  // Every scale is checked, also those of an empty tensor.
  const Extents counts = extents(plan);
  DEQUANT_CHECK(check_buffers(plan, counts, buffers));
  const int64_t y_bytes = counts.y * y_width(plan);
  return run_chunks({plan,
                     buffers,
                     active_table(),
                     {0, element_count(plan)},
                     0,
                     use_streaming(options.stores, y_bytes)},
                    options.executor);
}

}  // namespace

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  if (is_simple(plan, buffers)) {
    const bool stream = use_streaming(options.stores, plan.inner * y_width(plan));
    run_chunk({plan, buffers, active_table(), {0, plan.inner}, 0, stream}, {0, plan.inner});
    return {};
  }
  return run_checked(plan, buffers, options);
}

Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                 const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan));
  if (plan.granularity == Granularity::strided) {
    return invalid("plan.granularity: a strided plan has no ranges; run() takes it whole");
  }
  DEQUANT_CHECK(check_range(plan, elements));
  // Of a whole tensor every scale is checked, as run() does.
  if (elements == Range{0, element_count(plan)}) return run(plan, buffers, options);
  const Range scales = scales_of(plan, elements);
  const Extents counts = extents_of(plan, elements, scales);
  DEQUANT_CHECK(check_buffers(plan, counts, buffers));
  const int64_t y_bytes = counts.y * y_width(plan);
  return run_chunks({plan, buffers, active_table(), elements, scales.begin,
                     use_streaming(options.stores, y_bytes)},
                    options.executor);
}

}  // namespace dequant
