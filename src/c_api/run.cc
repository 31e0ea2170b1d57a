// Running a plan on the memory and the threads of a C program.
#include <array>
#include <cstdint>

#include "c_api/boundary.h"
#include "c_api/buffers.h"
#include "c_api/callers_threads.h"
#include "c_api/plan.h"
#include "dequant/executor.h"

namespace dequant::c_api {
namespace {

static_assert(static_cast<int>(Stores::automatic) == DEQUANT_STORES_AUTOMATIC);
static_assert(static_cast<int>(Stores::cached) == DEQUANT_STORES_CACHED);
static_assert(static_cast<int>(Stores::streaming) == DEQUANT_STORES_STREAMING);

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
  if (const auto* scheme = std::get_if<SchemeNodePlan>(&plan.node))
    return run(scheme->dense.plan, buffers, options);
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

Status run_with(const dequant_plan* plan, const Buffers& buffers, const dequant_options* options) {
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

Status run_node(const dequant_plan* plan, const dequant_buffers* given,
                const dequant_options* options) {
  DEQUANT_CHECK(check_plan(plan));
  if (std::holds_alternative<SchemeNodePlan>(plan->node))
    return invalid("plan: of a scheme, which dequant_run_scheme runs");
  DEQUANT_CHECK(check_struct("dequant_buffers", given));
  DEQUANT_TRY(const Buffers buffers, buffers_of(*given));
  return run_with(plan, buffers, options);
}

Status run_scheme(const dequant_plan* plan, const dequant_scheme_buffers* given,
                  const dequant_options* options) {
  DEQUANT_CHECK(check_plan(plan));
  const auto* scheme = std::get_if<SchemeNodePlan>(&plan->node);
  if (scheme == nullptr) return invalid("plan: of no scheme; dequant_run runs it");
  DEQUANT_CHECK(check_struct("dequant_scheme_buffers", given));
  DEQUANT_TRY(const Buffers buffers, buffers_of(*scheme, *given));
  return run_with(plan, buffers, options);
}

}  // namespace
}  // namespace dequant::c_api

dequant_code dequant_run(const dequant_plan* plan, const dequant_buffers* buffers,
                         const dequant_options* options, dequant_error* error) {
  return dequant::c_api::guarded(error,
                                 [&] { return dequant::c_api::run_node(plan, buffers, options); });
}

dequant_code dequant_run_scheme(const dequant_plan* plan, const dequant_scheme_buffers* buffers,
                                const dequant_options* options, dequant_error* error) {
  return dequant::c_api::guarded(
      error, [&] { return dequant::c_api::run_scheme(plan, buffers, options); });
}
