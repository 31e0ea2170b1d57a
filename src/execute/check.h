// What run() asks of a plan and of the caller's memory before its first write. The checks of a
// small tensor cost more than its elements, so that sentences are made out of the way.
#pragma once

#include "dequant/plan.h"

namespace dequant {

/// Dialects make sound plans; this is for the others. The counts of a sound plan cannot overflow.
Status check_plan(const Plan& plan);

/// Elements of a range lie within the tensor.
Status check_range(const Plan& plan, Range elements);

/// `counts` are the elements that each buffer must hold.
Status check_buffers(const Plan& plan, const Extents& counts, const Buffers& buffers);

/// True only if all of these checks pass: a short answer for the plan that most small tensors have,
/// one float32 scale for at most kSimpleElements integers. Where it is false the checks have the
/// word.
bool is_simple(const Plan& plan, const Buffers& buffers) noexcept;

inline constexpr int64_t kSimpleElements = int64_t{1} << 16;

}  // namespace dequant
