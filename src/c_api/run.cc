// Running a plan on the memory and the threads of a C program.
#include <array>
#include <cstdint>
#include <utility>

#include "c_api/boundary.h"
#include "c_api/callers_threads.h"
#include "c_api/plan.h"
#include "dequant/executor.h"

namespace dequant::c_api {
namespace {

static_assert(static_cast<int>(Stores::automatic) == DEQUANT_STORES_AUTOMATIC);
static_assert(static_cast<int>(Stores::cached) == DEQUANT_STORES_CACHED);
static_assert(static_cast<int>(Stores::streaming) == DEQUANT_STORES_STREAMING);

/// Checks that a pointer is not null and that its end does not overflow, so that a span can be
/// made.
template <class Byte, class Pointer>
Result<std::span<Byte>> span_of(std::string_view name, Pointer* begin, uint64_t bytes) {
  if (begin == nullptr && bytes > 0) return invalid(name, ": null, with ", bytes, " bytes");
  if (!std::in_range<uintptr_t>(bytes) ||
      static_cast<uintptr_t>(bytes) > UINTPTR_MAX - reinterpret_cast<uintptr_t>(begin)) {
    return invalid(name, ": ", bytes, " bytes there reach beyond the end of memory");
  }
  return std::span<Byte>(static_cast<Byte*>(begin), static_cast<size_t>(bytes));
}

Result<Buffers> buffers_of(const dequant_buffers& c) {
  using In = const std::byte;
  Buffers b;
  DEQUANT_TRY(b.x, span_of<In>("x", c.x, c.x_bytes));
  DEQUANT_TRY(b.scale, span_of<In>("scale", c.scale, c.scale_bytes));
  DEQUANT_TRY(b.zero_point, span_of<In>("zero_point", c.zero_point, c.zero_point_bytes));
  DEQUANT_TRY(b.min_range, span_of<In>("min_range", c.min_range, c.min_range_bytes));
  DEQUANT_TRY(b.max_range, span_of<In>("max_range", c.max_range, c.max_range_bytes));
  DEQUANT_TRY(b.y, span_of<std::byte>("y", c.y, c.y_bytes));
  return b;
}

Result<Stores> stores_of(const dequant_options& options) {
  const int32_t number = number_of(options.stores);
  if (number >= DEQUANT_STORES_AUTOMATIC && number <= DEQUANT_STORES_STREAMING) {
    return static_cast<Stores>(number);
  }
  return invalid("stores: ", number, " is none of 0 to ", int32_t{DEQUANT_STORES_STREAMING});
}

Status check_threads(const dequant_options& options) {
  if (options.threads < 0) return invalid("threads: ", options.threads, " is negative");
  if (options.threads == 0 || options.parallel_for == nullptr) return {};
  return invalid("threads: ", options.threads,
                 " are asked for, but parallel_for brings the caller's; leave it 0");
}

/// Runs a DirectML operator, which checks its buffers itself.
Status run_operator(const directml::Operator& op, const Buffers& b, const RunOptions& options) {
  if (!b.min_range.empty() || !b.max_range.empty()) {
    return invalid(b.min_range.empty() ? "max_range" : "min_range",
                   ": given, but operators of DirectML have none");
  }
  const std::array inputs{b.x, b.scale, b.zero_point};
  // execute() refuses an input that is too many.
  const size_t count = b.zero_point.empty() ? op.input_count : inputs.size();
  return directml::execute(op, std::span(inputs).first(count), b.y, options);
}

Status run_plan(const dequant_plan& plan, const Buffers& buffers, const RunOptions& options) {
  if (const auto* op = std::get_if<directml::Operator>(&plan.node)) {
    return run_operator(*op, buffers, options);
  }
  return run(std::get<Plan>(plan.node), buffers, options);
}

/// Runs on at most so many threads of the library's pool; 0: one for each processor.
Status run_on_pool(const dequant_plan& plan, const Buffers& buffers, RunOptions options,
                   int threads) {
  ThreadPool pool(threads);
  options.executor = pool.executor();
  return run_plan(plan, buffers, options);
}

Status run_on_callers_threads(const dequant_plan& plan, const Buffers& buffers, RunOptions options,
                              const dequant_options& given) {
  CallersThreads threads(given.parallel_for, given.self);
  options.executor = threads.executor();
  const Status status = run_plan(plan, buffers, options);
  // Both report missing tasks, but only the threads have the reason.
  DEQUANT_CHECK(threads.outcome());
  return status;
}

Status run_checked(const dequant_plan* plan, const dequant_buffers* given,
                   const dequant_options* options) {
  DEQUANT_CHECK(check_plan(plan));
  DEQUANT_CHECK(check_struct("dequant_buffers", given));
  DEQUANT_TRY(const Buffers buffers, buffers_of(*given));
  if (options == nullptr) return run_on_pool(*plan, buffers, {}, 0);
  DEQUANT_CHECK(check_struct("dequant_options", options));
  DEQUANT_CHECK(check_threads(*options));
  RunOptions run_options;
  DEQUANT_TRY(run_options.stores, stores_of(*options));
  if (options->parallel_for != nullptr) {
    return run_on_callers_threads(*plan, buffers, run_options, *options);
  }
  return run_on_pool(*plan, buffers, run_options, options->threads);
}

}  // namespace
}  // namespace dequant::c_api

dequant_code dequant_run(const dequant_plan* plan, const dequant_buffers* buffers,
                         const dequant_options* options, dequant_error* error) {
  return dequant::c_api::guarded(
      error, [&] { return dequant::c_api::run_checked(plan, buffers, options); });
}
