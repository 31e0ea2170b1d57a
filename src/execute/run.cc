// The entry point of execution: every check before the first write, then chunks for the executor.
#include <algorithm>
#include <array>
#include <cstring>

#include "checked.h"
#include "dequant/plan.h"
#include "element/traits.h"
#include "execute/check.h"
#include "execute/chunk.h"
#include "execute/float_environment.h"
#include "execute/tasks.h"
#include "execute/way.h"
#include "kernel/targets.h"
#include "text.h"

namespace dequant {
namespace {

/// How many elements the buffers of run_range() hold.
Extents lengths_of(const Slices& slices) {
  const auto length = [](Range r) { return r.end - r.begin; };
  return {.x = length(slices.x),
          .scale = length(slices.scale),
          .zero_point = length(slices.zero_point),
          .min_range = length(slices.min_range),
          .max_range = length(slices.max_range),
          .y = length(slices.y),
          .tensor_scale = length(slices.tensor_scale),
          .group_index = length(slices.group_index)};
}

/// The first scale, or range, that the buffers of a packed plan hold.
int64_t first_scale(const Slices& slices) {
  return slices.scale == Range{} ? slices.min_range.begin : slices.scale.begin;
}

/// Bytes of an element of y.
int64_t y_width(const Plan& plan) { return traits(plan.output).format.bits / 8; }

/// Hands several chunks to the caller's threads; what an executor left out would be garbage in y.
Status run_parallel(const Job& job, const Executor& executor) {
  // Executors may touch the state of this thread too; chunks care for their own threads.
  const FloatEnvironment environment;
  const auto run_one = [](void* self, size_t i) { run_chunk(*static_cast<const Job*>(self), i); };
  Tasks tasks(run_one, const_cast<Job*>(&job), static_cast<size_t>(job.way.chunks));
  executor.parallel_for(executor.self, tasks.count(), Tasks::run, &tasks);
  const size_t finished = tasks.finished();
  if (finished == tasks.count()) return {};
  return invalid("executor: returned after ", finished, " of ", tasks.count(),
                 " tasks; y is incomplete");
}

/// What chunks are made of: elements of a packed plan, which the buffers x and y hold, or a region
/// of a strided one. `y_elements` are those that y spans in the whole call, gaps included.
struct Part {
  Range elements;
  int64_t first_scale;
  int64_t y_elements;
  const Region* region = nullptr;
};

Status run_chunks(const Plan& plan, const Buffers& buffers, const Part& part,
                  const RunOptions& options) {
  const Table& table = active_table();
  const Way way = way_of(plan, table,
                         {part.elements, part.y_elements * y_width(plan), options.stores,
                          reinterpret_cast<uintptr_t>(buffers.y.data()), part.region});
  const Job job{plan, buffers, table, part.elements, part.first_scale, way, part.region};
  if (way.chunks > 1 && options.executor.parallel_for != nullptr) {
    return run_parallel(job, options.executor);
  }
  for (int64_t i = 0; i < way.chunks; ++i) run_chunk(job, static_cast<size_t>(i));
  return {};
}

/// A range of a strided plan, region by region. `slices` is what the buffers hold.
Status run_regions(const Plan& plan, Range elements, const Slices& slices, int64_t y_elements,
                   const Buffers& buffers, const RunOptions& options) {
  Offsets start = origin_of(plan);
  start.x -= slices.x.begin;
  start.scale -= slices.scale.begin;
  start.zero_point -= slices.zero_point.begin;
  start.y -= slices.y.begin;
  start.group_index -= slices.group_index.begin;
  Status done;
  Spans(plan, elements).for_each([&](const Span& span) {
    const Regions regions(plan, span, start);
    for (size_t i = 0; i < regions.count() && done; ++i) {
      const Region region = regions[i];
      done = run_chunks(plan, buffers, {{0, region.elements()}, 0, y_elements, &region}, options);
    }
  });
  return done;
}

/// Of a packed plan: elements from one on whose code starts within a byte, as few as that takes.
/// The elements before it in the byte are done, too, and left out of y.
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

/// A range of a packed plan.
Status run_packed_range(const Plan& plan, Range elements, const Slices& slices, int64_t y_elements,
                        const Buffers& buffers, const RunOptions& options) {
  Buffers rest = buffers;
  if (elements.begin != slices.x.begin) {
    const Range first{elements.begin, std::min(elements.end, slices.x.begin + 8)};
    DEQUANT_CHECK(run_first_byte(plan, first, slices, buffers));
    elements.begin = first.end;
    if (elements.begin == elements.end) return {};
    // Eight codes are as many bytes as one has bits.
    rest.x = rest.x.subspan(static_cast<size_t>(traits(plan.input).format.bits));
    rest.y = rest.y.subspan(static_cast<size_t>((first.end - first.begin) * y_width(plan)));
  }
  return run_chunks(plan, rest, {elements, first_scale(slices), y_elements}, options);
}

/// Checked elements of a checked plan. `counts` is what the buffers must hold, from `slices` on.
Status run_checked(const Plan& plan, Range elements, const Slices& slices, const Extents& counts,
                   const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_buffers(plan, counts, buffers));
  if (elements.begin == elements.end) return {};
  const auto dequantize = plan.granularity == Granularity::strided ? run_regions : run_packed_range;
  return dequantize(plan, elements, slices, counts.y, buffers, options);
}

}  // namespace

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  // Sixteen elements take a quarter of the time that the checks and the way of any plan take.
  if (options.stores != Stores::streaming && is_simple(plan, buffers)) {
    run_simple(plan, buffers, active_table());
    return {};
  }
  DEQUANT_CHECK(check_plan(plan));
  // Every scale is checked, also those of an empty tensor. Buffers of the whole begin as {} does,
  // at 0.
  return run_checked(plan, {0, element_count(plan)}, {}, extents(plan), buffers, options);
}

Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                 const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan));
  DEQUANT_CHECK(check_range(plan, elements));
  // Of a whole tensor every scale is checked, as run() does.
  if (elements == Range{0, element_count(plan)}) return run(plan, buffers, options);
  const Slices slices = slices_of(plan, elements);
  return run_checked(plan, elements, slices, lengths_of(slices), buffers, options);
}

}  // namespace dequant
