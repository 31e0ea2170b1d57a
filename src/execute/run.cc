// The door of execution: every check before the first write, then chunks for the executor.
#include <algorithm>
#include <array>

#include "checked.h"
#include "dequant/plan.h"
#include "dequant/tensor.h"
#include "element/codes.h"
#include "execute/cache.h"
#include "execute/chunk.h"
#include "execute/float_environment.h"
#include "kernel/targets.h"
#include "text.h"

namespace dequant {
namespace {

/// Output bytes of a chunk: about what a core's L2 cache holds.
constexpr int64_t kChunkBytes = 256 << 10;

using Bytes = std::span<const std::byte>;

Status check_size(std::string_view what, Bytes given, Element element, int64_t count) {
  DEQUANT_TRY(const int64_t need, packed_bytes(element, count));
  if (need > 0 && given.data() == nullptr)
    return invalid(what, ": null, but ", need, " bytes are needed");
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

/// Zero points of floats have no meaning but zero; +0 and -0 both are.
Status check_float_zeros(const Plan& plan, Bytes zero_point, int64_t count) {
  if (kind(plan.input) != Kind::floating) return {};
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t code = load_code(bits(plan.input), zero_point.data(), i);
    if (!is_zero_float(plan.input, code)) {
      return invalid("x_zero_point: element ", i, " has code ", code, ", which is not zero; a ",
                     name(plan.input), " x has no other zero point");
    }
  }
  return {};
}

/// Dialects make sound plans; this is for the others. The counts of a sound plan cannot overflow.
Status check_plan(const Plan& plan) {
  const auto known = [](Element e) { return static_cast<size_t>(e) < elements().size(); };
  const auto number = [](auto e) { return static_cast<int>(e); };
  if (!known(plan.input) || !is_input(plan.input)) {
    return invalid("plan.input: element ", number(plan.input), " is nothing to dequantize");
  }
  if (!known(plan.output) || !is_output(plan.output)) {
    return invalid("plan.output: element ", number(plan.output), " is no output");
  }
  if (!known(plan.scale) || !(is_output(plan.scale) || plan.scale == Element::float8e8m0)) {
    return invalid("plan.scale: element ", number(plan.scale), " is no scale");
  }
  if (plan.rule != Rule::subtract_then_scale) {
    return invalid("plan.rule: ", number(plan.rule), " is no rule");
  }
  if (plan.granularity > Granularity::blocked) {
    return invalid("plan.granularity: ", number(plan.granularity), " is no granularity");
  }
  if (plan.block < 1) return invalid("plan.block: ", plan.block, " is less than 1");
  const std::array shape{plan.outer, plan.axis, plan.inner};
  DEQUANT_TRY(const int64_t count, element_count(shape));
  DEQUANT_TRY([[maybe_unused]] const int64_t x_bytes, packed_bytes(plan.input, count));
  DEQUANT_TRY([[maybe_unused]] const int64_t y_bytes, packed_bytes(plan.output, count));
  return {};
}

Status check_range(const Plan& plan, Range elements) {
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
  return check_float_zeros(plan, b.zero_point, sides);
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
  const auto held = static_cast<int64_t>(std::min<uint64_t>(zero_point.size(), INT64_MAX / 8));
  return check_float_zeros(plan, zero_point,
                           std::min(held * 8 / bits(plan.input), scale_count(plan)));
}

Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan));
  return run_range(plan, {0, element_count(plan)}, buffers, options);
}

Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                 const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan));
  DEQUANT_CHECK(check_range(plan, elements));
  // Of a whole tensor every scale is checked, also those of an empty one.
  const bool whole = elements == Range{0, element_count(plan)};
  const Range scales = whole ? Range{0, scale_count(plan)} : scales_of(plan, elements);
  DEQUANT_CHECK(check_buffers(plan, elements, scales, buffers));

  const int64_t count = elements.end - elements.begin;
  const int64_t y_bytes = count * (bits(plan.output) / 8);
  const Job job{plan,     buffers,      active_table(),
                elements, scales.begin, use_streaming(options.stores, y_bytes)};
  // Executors may touch the state of this thread too; chunks care for their own threads.
  const FloatEnvironment environment;
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
