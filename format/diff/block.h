// The arithmetic of a comparison: one block of two tensors.
#pragma once

#include <span>

#include "format/diff/comparison.h"

namespace dequant::format {

/// Compares a block: packed bytes of the same elements of two tensors. `index` is the row-major
/// index of the first. Steps are those of coarser(a_type, b_type). Each sum adds, from front to
/// back, in eight lanes, which are added at the end.
BlockDifference compare_block(Element a_type, std::span<const std::byte> a, Element b_type,
                              std::span<const std::byte> b, int64_t index);

/// True where one of the two is a NaN or an infinity and the other is not the same.
bool is_mismatch(float a, float b);

}  // namespace dequant::format
