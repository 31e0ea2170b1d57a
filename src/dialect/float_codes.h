// Weights whose codes are floats of 4, 6 or 8 bits, with a scale for each block along the last
// dimension.
#pragma once

#include <vector>

#include "dequant/plan.h"
#include "dialect/grid.h"

namespace dequant {

/// The shape of a weight in elements. The weight has codes of `element`, or is uint8 or int8 with
/// the bytes of rows, low bits first. Fails with invalid_argument where its type is neither, where
/// its rank is not 1 to `most`, and where a row has no whole number of elements.
Result<std::vector<int64_t>> shape_in_elements(const NamedTensor& weight, Element element,
                                               int most);

/// Completes a plan (elements, parameters) of a weight with that shape, whose last dimension has a
/// scale for each `block` elements; the last block may be short. Fails with invalid_argument.
Result<Plan> float_blocks_plan(Plan plan, const char* weight, Shape shape, const NamedTensor& scale,
                               int64_t block);

}  // namespace dequant
