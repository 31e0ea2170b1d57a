// run() and run_range(): all checks before the first write, then chunks as tasks for the executor.
#include <algorithm>
#include <array>
#include <cstring>

#include "dequant/plan.h"
#include "element/traits.h"
#include "execute/check.h"
#include "execute/chunk.h"
#include "execute/float_environment.h"
#include "execute/region_jobs.h"
#include "execute/tasks.h"
#include "execute/way.h"
#include "kernel/targets.h"
#include "plan/packing.h"
#include "text.h"

namespace dequant {
namespace {

/// The elements that each buffer of run_range() must hold.
Extents lengths_of(const Slices& slices) {
  const auto length = [](Range r) { return r.end - r.begin; };
  return {.x = length(slices.x),
          .scale = length(slices.scale),
          .zero_point = length(slices.zero_point),
          .min_range = length(slices.min_range),
          .max_range = length(slices.max_range),
          .y = length(slices.y),
          .tensor_scale = length(slices.tensor_scale),
          .group_index = length(slices.group_index),
          .codebook = length(slices.codebook)};
}

/// The index of the first scale, or range, in the buffers of a packed plan.
int64_t first_scale(const Slices& slices) {
  return slices.scale == Range{} ? slices.min_range.begin : slices.scale.begin;
}

/// Bytes of an element of y.
int64_t y_width(const Plan& plan) { return traits(plan.output).format.bits / 8; }

/// Runs chunk(context, i) for every i below `chunks` as tasks of the caller's executor. Fails if
/// the executor left a task out: y then has elements that nobody wrote.
Status run_parallel(Executor::Task chunk, void* context, size_t chunks, const Executor& executor) {
  // Restores the floating-point state of this thread, which an executor may change.
  const FloatEnvironment environment;
  Tasks tasks(chunk, context, chunks);
  executor.parallel_for(executor.self, tasks.count(), Tasks::run, &tasks);
  const size_t finished = tasks.finished();
  if (finished == tasks.count()) return {};
  return invalid("executor: returned after ", finished, " of ", tasks.count(),
                 " tasks; y is incomplete");
}

/// What is divided into chunks: elements of a packed plan, or a region of a strided one.
struct Work {
  Range elements;       ///< in the buffers x and y; strided: of the region, from 0 on
  int64_t first_scale;  ///< as in Job
  int64_t y_elements;   ///< from the first to the last of y in the whole call, gaps included
  const Region* region = nullptr;
  int64_t x_byte = 0;  ///< as in Job
};

/// True if a Job numbers codes of x from the start of the tensor, not of the buffer.
bool numbers_codes(const Plan& plan) {
  return is_packing(plan.parameters.x_packing) || plan.parameters.x_blocks.has_value();
}

/// Job::x_byte.
int64_t x_byte(const Plan& plan, const Slices& slices) {
  return numbers_codes(plan) ? x_bytes_of(plan, slices.x).begin : 0;
}

Way way_of_work(const Plan& plan, const Table& table, const Buffers& buffers, const Work& work,
                Stores stores) {
  return way_of(plan, table,
                {work.elements, work.y_elements * y_width(plan), stores,
                 reinterpret_cast<uintptr_t>(buffers.y.data()), work.region});
}

void run_here(const Job& job) {
  for (int64_t i = 0; i < job.way.chunks; ++i) run_chunk(job, static_cast<size_t>(i));
}

Status run_chunks(const Plan& plan, const Buffers& buffers, const Work& work,
                  const RunOptions& options) {
  const Table& table = active_table();
  const Way way = way_of_work(plan, table, buffers, work, options.stores);
  Job job{plan, buffers, table, work.elements, work.first_scale, way, nullptr, work.x_byte};
  if (way.chunks <= 1 || options.executor.parallel_for == nullptr) {
    run_here(job);
    return {};
  }
  const auto run_one = [](void* self, size_t i) { run_chunk(*static_cast<const Job*>(self), i); };
  return run_parallel(run_one, &job, static_cast<size_t>(way.chunks), options.executor);
}

/// Runs a range of a strided plan, region by region. `slices` says what the buffers hold. Threads
/// share the regions of several chunks.
Status run_regions(const Plan& plan, Range elements, const Slices& slices, int64_t y_elements,
                   const Buffers& buffers, const RunOptions& options) {
  Offsets start = origin_of(plan);
  // Codes of a Packing are numbered from the start of the tensor.
  if (!is_packing(plan.parameters.x_packing)) start.x -= slices.x.begin;
  start.scale -= slices.scale.begin;
  start.zero_point -= slices.zero_point.begin;
  start.y -= slices.y.begin;
  start.group_index -= slices.group_index.begin;
  const Table& table = active_table();
  const int64_t first_byte = x_byte(plan, slices);
  RegionJobs shared;
  Spans(plan, elements).for_each([&](const Span& span) {
    const Regions regions(plan, span, start);
    for (size_t i = 0; i < regions.count(); ++i) {
      const Region region = regions[i];
      const Work work{{0, region.elements()}, 0, y_elements, &region, first_byte};
      const Way way = way_of_work(plan, table, buffers, work, options.stores);
      const Job job{plan, buffers, table, work.elements, 0, way, &region, work.x_byte};
      if (way.chunks > 1 && options.executor.parallel_for != nullptr && !shared.is_full()) {
        shared.add(job);
      } else {
        run_here(job);
      }
    }
  });
  if (shared.chunks() == 0) return {};
  return run_parallel(RegionJobs::run, &shared, shared.chunks(), options.executor);
}

/// Runs elements of a packed plan whose first code starts within a byte, up to eight: all elements
/// from the start of the byte on are dequantized to a buffer, and those of the range are copied.
Status run_first_byte(const Plan& plan, Range elements, const Slices& slices,
                      const Buffers& buffers) {
  std::array<std::byte, 8 * sizeof(float)> y;
  Buffers whole = buffers;
  whole.y = y;
  const Range codes{slices.x.begin, elements.end};
  DEQUANT_CHECK(run_chunks(plan, whole, {codes, first_scale(slices), codes.end - codes.begin},
                           {sequential_executor(), Stores::cached}));
  const auto skipped = static_cast<size_t>((elements.begin - codes.begin) * y_width(plan));
  const auto count = static_cast<size_t>((elements.end - elements.begin) * y_width(plan));
  std::memcpy(buffers.y.data(), y.data() + skipped, count);
  return {};
}

/// Runs a range of a packed plan.
Status run_packed_range(const Plan& plan, Range elements, const Slices& slices, int64_t y_elements,
                        const Buffers& buffers, const RunOptions& options) {
  const int64_t first = first_scale(slices);
  if (numbers_codes(plan)) {
    return run_chunks(plan, buffers, {elements, first, y_elements, nullptr, x_byte(plan, slices)},
                      options);
  }
  Buffers rest = buffers;
  if (elements.begin != slices.x.begin) {
    const Range head{elements.begin, std::min(elements.end, slices.x.begin + 8)};
    DEQUANT_CHECK(run_first_byte(plan, head, slices, buffers));
    elements.begin = head.end;
    if (elements.begin == elements.end) return {};
    // Eight codes of b bits are b bytes.
    rest.x = rest.x.subspan(static_cast<size_t>(traits(plan.input).format.bits));
    rest.y = rest.y.subspan(static_cast<size_t>((head.end - head.begin) * y_width(plan)));
  }
  return run_chunks(plan, rest, {elements, first, y_elements}, options);
}

/// True for all elements of a tensor that has any: the range of an empty one needs no parameters.
bool is_whole(const Plan& plan, Range elements) {
  return elements.end != 0 && elements == Range{0, element_count(plan)};
}

/// Checks the buffers and runs a range; plan and range are checked. `counts` are the elements that
/// the buffers must hold, the first of them where `slices` begin.
Status run_checked(const Plan& plan, Range elements, const Slices& slices, const Extents& counts,
                   const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_buffers(plan, {counts, slices.x.begin}, buffers));
  if (elements.begin == elements.end) return {};
  const auto dequantize = plan.granularity == Granularity::strided ? run_regions : run_packed_range;
  return dequantize(plan, elements, slices, counts.y, buffers, options);
}

}  // namespace

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  // Checks and way of a general plan take four times as long as sixteen elements.
  if (options.stores != Stores::streaming && is_simple(plan, buffers)) {
    run_simple(plan, buffers, active_table());
    return {};
  }
  DEQUANT_CHECK(check_plan(plan));
  // All zero points are checked, even if x is empty. Buffers of the whole tensor begin at index 0,
  // as Slices{} does.
  return run_checked(plan, {0, element_count(plan)}, {}, extents(plan), buffers, options);
}

Status check_sizes(const Plan& plan, Range elements, const Buffers& buffers) {
  DEQUANT_CHECK(check_plan(plan));
  DEQUANT_CHECK(check_range(plan, elements));
  const bool whole = is_whole(plan, elements);
  const Slices slices = whole ? Slices{} : slices_of(plan, elements);
  const Extents counts = whole ? extents(plan) : lengths_of(slices);
  return check_buffer_sizes(plan, {counts, slices.x.begin}, buffers);
}

Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                 const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan));
  DEQUANT_CHECK(check_range(plan, elements));
  // For the whole tensor run() checks all zero points.
  if (is_whole(plan, elements)) return run(plan, buffers, options);
  const Slices slices = slices_of(plan, elements);
  return run_checked(plan, elements, slices, lengths_of(slices), buffers, options);
}

}  // namespace dequant
