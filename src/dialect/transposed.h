// Plans of the transpose of a matrix that a scheme stores.
#pragma once

#include "dequant/plan.h"

namespace dequant {

/// The plan of y transposed: `plan` dequantizes a matrix [rows, columns] without gaps, and the
/// result writes [columns, rows]. Fails with invalid_argument where x has blocks with scales of
/// their own, and with unsupported where elements that share a scale neither fill rows nor divide
/// these.
Result<Plan> transposed_plan(Plan plan, int64_t rows, int64_t columns);

}  // namespace dequant
