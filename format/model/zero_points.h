// The zero points that a plan subtracts, of layouts that are more than a list of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "dequant/plan.h"

namespace dequant::format {

/// True where stored zero points are packed in words, or have an offset, whose sum may overflow
/// into the next zero point: then stored elements are not what is subtracted.
bool are_computed(const Plan& plan);

/// Called with the index of a stored scale, and the zero point of its elements.
using ZeroPointVisitor = std::function<void(int64_t scale, double zero_point)>;

/// Calls the visitor for the scales of a plan with integer zero points, of which `stored` has all
/// bytes. Fails as run_range() does.
Status for_each_zero_point(const Plan& plan, std::span<const std::byte> stored,
                           const ZeroPointVisitor& visitor);

}  // namespace dequant::format
