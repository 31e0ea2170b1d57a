// The C API of plans on a CUDA device.
#include "dequant_cuda.h"

#include <optional>
#include <span>

#include "c_api/boundary.h"
#include "c_api/buffers.h"
#include "c_api/plan.h"
#include "dequant/cuda.h"
#include "dequant/tensor.h"

namespace dequant::c_api {
namespace {

static_assert(static_cast<int>(cuda::Fault::group_index) == DEQUANT_CUDA_GROUP_INDEX);
static_assert(static_cast<int>(cuda::Fault::zero_point) == DEQUANT_CUDA_ZERO_POINT);

/// The values of the codes where the scheme fixes them: in memory of the host.
std::span<const std::byte> codebook_of(const dequant_plan& plan) {
  const auto* scheme = std::get_if<SchemeNodePlan>(&plan.node);
  if (scheme == nullptr || scheme->dense.codebook) return {};
  return std::as_bytes(scheme->dense.values);
}

Status check_range(const Plan& plan, Range elements) {
  const int64_t count = element_count(plan);
  if (elements.begin >= 0 && elements.begin <= elements.end && elements.end <= count) return {};
  return invalid("elements: [", elements.begin, ", ", elements.end, ") of ", count);
}

Status run_with(const dequant_plan& plan, std::optional<Range> elements, Buffers buffers,
                const dequant_cuda_options* given) {
  dequant_cuda_options options{};
  if (given != nullptr) {
    DEQUANT_CHECK(check_struct("dequant_cuda_options", given));
    options = *given;
  }
  if (const size_t size = codebook_of(plan).size(); size > 0) {
    if (options.codebook == nullptr || options.codebook_bytes < size) {
      return invalid("codebook: ", options.codebook == nullptr ? 0 : options.codebook_bytes,
                     " bytes on the device where dequant_cuda_codebook has ", size);
    }
    buffers.codebook = {static_cast<const std::byte*>(options.codebook), size};
  }
  const cuda::RunOptions run{static_cast<CUstream_st*>(options.stream), options.faults};
  const Plan& own = plan_of(plan.node);
  if (!elements) return cuda::run(own, buffers, run);
  DEQUANT_CHECK(check_range(own, *elements));
  return cuda::run_range(own, *elements, buffers, run);
}

Status run_node(const dequant_plan* plan, std::optional<Range> elements,
                const dequant_buffers* given, const dequant_cuda_options* options) {
  DEQUANT_CHECK(check_plan(plan));
  if (std::holds_alternative<SchemeNodePlan>(plan->node))
    return invalid("plan: of a scheme, which dequant_cuda_run_scheme runs");
  DEQUANT_CHECK(check_struct("dequant_buffers", given));
  DEQUANT_TRY(const Buffers buffers, buffers_of(*given));
  return run_with(*plan, elements, buffers, options);
}

Status run_scheme(const dequant_plan* plan, std::optional<Range> elements,
                  const dequant_scheme_buffers* given, const dequant_cuda_options* options) {
  DEQUANT_CHECK(check_plan(plan));
  const auto* scheme = std::get_if<SchemeNodePlan>(&plan->node);
  if (scheme == nullptr) return invalid("plan: of no scheme; dequant_cuda_run runs it");
  DEQUANT_CHECK(check_struct("dequant_scheme_buffers", given));
  DEQUANT_TRY(const Buffers buffers, buffers_of(*scheme, *given));
  return run_with(*plan, elements, buffers, options);
}

dequant_cuda_slice to_c(Range bytes) {
  return {static_cast<uint64_t>(bytes.begin), static_cast<uint64_t>(bytes.end)};
}

Status slices_of_node(const dequant_plan* plan, Range elements, dequant_cuda_slices* out) {
  DEQUANT_CHECK(check_plan(plan));
  if (!std::holds_alternative<Plan>(plan->node))
    return invalid("plan: of a scheme, or of an operator of DirectML");
  DEQUANT_CHECK(check_struct("dequant_cuda_slices", out));
  const Plan& own = plan_of(plan->node);
  DEQUANT_CHECK(check_range(own, elements));
  const Slices s = slices_of(own, elements);
  out->x = to_c(x_bytes_of(own, s.x));
  out->scale = to_c(bytes_of(own.scale, s.scale));
  out->zero_point = to_c(zero_point_bytes_of(own, s.zero_point));
  out->min_range = to_c(bytes_of(own.scale, s.min_range));
  out->max_range = to_c(bytes_of(own.scale, s.max_range));
  out->y = to_c(bytes_of(own.output, s.y));
  return {};
}

Status slices_of_scheme(const dequant_plan* plan, Range elements, dequant_cuda_slice* tensors,
                        size_t count, dequant_cuda_slice* y) {
  DEQUANT_CHECK(check_plan(plan));
  const auto* scheme = std::get_if<SchemeNodePlan>(&plan->node);
  if (scheme == nullptr) return invalid("plan: of no scheme");
  if (count != scheme->tensor_count) {
    return invalid("tensor_count: ", count, " where the node has ", scheme->tensor_count,
                   " tensors");
  }
  if ((tensors == nullptr && count > 0) || y == nullptr)
    return invalid(y == nullptr ? "y" : "tensors", ": null");
  const SchemePlan& dense = scheme->dense;
  DEQUANT_CHECK(check_range(dense.plan, elements));
  const Slices s = slices_of(dense.plan, elements);
  const auto give = [&](std::optional<size_t> i, Range bytes) {
    if (i) tensors[*i] = to_c(bytes);
  };
  for (size_t i = 0; i < count; ++i) tensors[i] = {};
  give(dense.x, x_bytes_of(dense.plan, s.x));
  give(dense.scale, bytes_of(dense.plan.scale, s.scale));
  give(dense.zero_point, zero_point_bytes_of(dense.plan, s.zero_point));
  give(dense.tensor_scale, bytes_of(Element::float32, s.tensor_scale));
  give(dense.group_index, bytes_of(Element::int32, s.group_index));
  give(dense.codebook, bytes_of(Element::float32, s.codebook));
  *y = to_c(bytes_of(dense.plan.output, s.y));
  return {};
}

}  // namespace
}  // namespace dequant::c_api

using namespace dequant::c_api;
using dequant::Range;

int dequant_cuda_needs_faults(const dequant_plan* plan) {
  return check_plan(plan) && dequant::cuda::needs_faults(plan_of(plan->node)) ? 1 : 0;
}

int64_t dequant_cuda_row_elements(const dequant_plan* plan) {
  return check_plan(plan) ? dequant::cuda::row_elements(plan_of(plan->node)) : 0;
}

const void* dequant_cuda_codebook(const dequant_plan* plan, uint64_t* bytes) {
  const auto codebook = check_plan(plan) ? codebook_of(*plan) : std::span<const std::byte>();
  if (bytes != nullptr) *bytes = codebook.size();
  return codebook.empty() ? nullptr : codebook.data();
}

dequant_code dequant_cuda_run(const dequant_plan* plan, const dequant_buffers* buffers,
                              const dequant_cuda_options* options, dequant_error* error) {
  return guarded(error, [&] { return run_node(plan, std::nullopt, buffers, options); });
}

dequant_code dequant_cuda_run_scheme(const dequant_plan* plan,
                                     const dequant_scheme_buffers* buffers,
                                     const dequant_cuda_options* options, dequant_error* error) {
  return guarded(error, [&] { return run_scheme(plan, std::nullopt, buffers, options); });
}

dequant_code dequant_cuda_slices_of(const dequant_plan* plan, int64_t begin, int64_t end,
                                    dequant_cuda_slices* slices, dequant_error* error) {
  return guarded(error, [&] { return slices_of_node(plan, Range{begin, end}, slices); });
}

dequant_code dequant_cuda_scheme_slices(const dequant_plan* plan, int64_t begin, int64_t end,
                                        dequant_cuda_slice* tensors, size_t tensor_count,
                                        dequant_cuda_slice* y, dequant_error* error) {
  return guarded(error, [&] {
    return slices_of_scheme(plan, Range{begin, end}, tensors, tensor_count, y);
  });
}

dequant_code dequant_cuda_run_range(const dequant_plan* plan, int64_t begin, int64_t end,
                                    const dequant_buffers* buffers,
                                    const dequant_cuda_options* options, dequant_error* error) {
  return guarded(error, [&] { return run_node(plan, Range{begin, end}, buffers, options); });
}

dequant_code dequant_cuda_run_scheme_range(const dequant_plan* plan, int64_t begin, int64_t end,
                                           const dequant_scheme_buffers* buffers,
                                           const dequant_cuda_options* options,
                                           dequant_error* error) {
  return guarded(error, [&] { return run_scheme(plan, Range{begin, end}, buffers, options); });
}
