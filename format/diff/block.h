// The arithmetic of comparing: one block of two tensors.
#pragma once

#include <span>

#include "format/diff/comparison.h"

namespace dequant::format {

/// What elements of two tensors add to the comparison, steps counted in those of `ulp`; `place` is
/// that of the first of them. Sums go from front to back in eight lanes.
BlockDifference compare_block(Element a_type, std::span<const std::byte> a, Element b_type,
                              std::span<const std::byte> b, int64_t place);

/// A mismatch: a NaN or an infinity that the other one lacks.
bool is_mismatch(float a, float b);

}  // namespace dequant::format
