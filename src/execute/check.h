// What run() and run_range() check before their first write. For a small tensor the checks take
// longer than its elements, so error messages are made in functions that are not inlined.
#pragma once

#include "dequant/plan.h"

namespace dequant {

/// Refuses a plan whose fields break a rule of include/dequant/plan.h. The plans of dialects pass;
/// a program may make any. Counts and bytes of a plan that passes do not overflow int64_t.
Status check_plan(const Plan& plan);

/// Refuses a range that does not lie within the elements of the plan.
Status check_range(const Plan& plan, Range elements);

/// What buffers must hold.
struct Demand {
  Extents counts;       ///< elements
  int64_t x_begin = 0;  ///< the index of the first element of x
};

/// Refuses buffers that are too small, null, unwanted or overlap y.
Status check_buffer_sizes(const Plan& plan, const Demand& demand, const Buffers& buffers);

/// The same, and refuses zero points and group indices of values that no kernel handles.
Status check_buffers(const Plan& plan, const Demand& demand, const Buffers& buffers);

/// True only if all checks above pass and the plan is that of most small tensors: at most
/// kSimpleElements integers with one float32 scale. False says nothing: other plans and wrong
/// buffers go through the checks above.
bool is_simple(const Plan& plan, const Buffers& buffers) noexcept;

inline constexpr int64_t kSimpleElements = int64_t{1} << 16;

}  // namespace dequant
