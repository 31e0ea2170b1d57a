// The door of execution: every check before the first write, then chunks for the executor.
#include <algorithm>

#include "checked.h"
#include "dequant/plan.h"
#include "dequant/tensor.h"
#include "element/codes.h"
#include "execute/cache.h"
#include "execute/chunk.h"
#include "kernel/targets.h"
#include "text.h"

namespace dequant {
namespace {

/// Output bytes of a chunk: about what a core's L2 cache holds.
constexpr int64_t kChunkBytes = 256 << 10;

using Bytes = std::span<const std::byte>;

Status check_size(std::string_view what, Bytes given, Element element, int64_t count) {
  DEQUANT_TRY(const int64_t need, packed_bytes(element, count));
  if (need > 0 && given.data() == nullptr) return invalid(what, ": null, but ", need, " bytes are needed");
  if (given.size() < static_cast<uint64_t>(need)) {
    return invalid(what, ": ", given.size(), " bytes given, ", need, " needed for ", count,
                   " elements of ", name(element));
  }
  return {};
}

Status check_apart(std::string_view what, Bytes input, Bytes y) {
  const auto begin = [](Bytes b) { return reinterpret_cast<uintptr_t>(b.data()); };
  const bool apart = input.empty() || y.empty() || begin(input) + input.size() <= begin(y) ||
                     begin(y) + y.size() <= begin(input);
  if (apart) return {};
  return invalid("y: overlaps ", what, "; give it memory of its own");
}

Status check_plan(const Plan& plan, Range elements) {
  const int64_t count = element_count(plan);
  if (elements.begin < 0 || elements.end > count || elements.begin > elements.end) {
    return invalid("elements: [", elements.begin, ", ", elements.end, ") is not within the ", count,
                   " of the plan");
  }
  if (elements.begin % 8 != 0) {
    return invalid("elements: begin ", elements.begin, " is not a multiple of 8");
  }
  return {};
}

Status check_buffers(const Plan& plan, Range elements, Range scales, const Buffers& b) {
  const int64_t count = elements.end - elements.begin;
  const int64_t sides = scales.end - scales.begin;
  DEQUANT_CHECK(check_size("x", b.x, plan.input, count));
  DEQUANT_CHECK(check_size("x_scale", b.scale, plan.scale, sides));
  DEQUANT_CHECK(check_size("y", b.y, plan.output, count));
  DEQUANT_CHECK(check_apart("x", b.x, b.y));
  DEQUANT_CHECK(check_apart("x_scale", b.scale, b.y));
  if (!plan.has_zero_point) {
    if (b.zero_point.empty()) return {};
    return invalid("x_zero_point: ", b.zero_point.size(), " bytes given for a plan without one");
  }
  DEQUANT_CHECK(check_size("x_zero_point", b.zero_point, plan.input, sides));
  DEQUANT_CHECK(check_apart("x_zero_point", b.zero_point, b.y));
  DEQUANT_TRY(const int64_t bytes, packed_bytes(plan.input, sides));
  return check_zero_points(plan, b.zero_point.first(static_cast<size_t>(bytes)));
}

bool use_streaming(Stores stores, int64_t y_bytes) {
  if (stores == Stores::automatic) return y_bytes > last_level_cache_bytes();
  return stores == Stores::streaming;
}

struct Chunks {
  const Job& job;
  int64_t size;  ///< elements of a chunk, a multiple of 64

  static void task(void* self, size_t i) {
    const auto& chunks = *static_cast<const Chunks*>(self);
    const int64_t begin = chunks.job.elements.begin + static_cast<int64_t>(i) * chunks.size;
    run_chunk(chunks.job, {begin, std::min(begin + chunks.size, chunks.job.elements.end)});
  }
};

}  // namespace

Status check_zero_points(const Plan& plan, Bytes zero_point) {
  if (kind(plan.input) != Kind::floating) return {};
  const int width = bits(plan.input);
  const auto held = static_cast<int64_t>(std::min<uint64_t>(zero_point.size(), INT64_MAX / 8));
  const int64_t count = std::min(held * 8 / width, scale_count(plan));
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t code = load_code(width, zero_point.data(), i);
    if (!is_zero_float(plan.input, code)) {
      return invalid("x_zero_point: element ", i, " has code ", code, ", which is not zero; a ",
                     name(plan.input), " x has no other zero point");
    }
  }
  return {};
}

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  return run_range(plan, {0, element_count(plan)}, buffers, options);
}

Status run_range(const Plan& plan, Range elements, const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan, elements));
  // Of a whole tensor every scale is checked, also those of an empty one.
  const bool whole = elements == Range{0, element_count(plan)};
  const Range scales = whole ? Range{0, scale_count(plan)} : scales_of(plan, elements);
  DEQUANT_CHECK(check_buffers(plan, elements, scales, buffers));

  const int64_t count = elements.end - elements.begin;
  const int64_t y_bytes = count * (bits(plan.output) / 8);
  const Job job{plan, buffers, active_table(), elements, scales.begin,
                use_streaming(options.stores, y_bytes)};
  Chunks chunks{job, kChunkBytes / (bits(plan.output) / 8)};
  const auto n = static_cast<size_t>(ceil_div(count, chunks.size));
  if (n > 1 && options.executor.parallel_for != nullptr) {
    options.executor.parallel_for(options.executor.self, n, Chunks::task, &chunks);
  } else {
    for (size_t i = 0; i < n; ++i) Chunks::task(&chunks, i);
  }
  return {};
}

}  // namespace dequant
