// Computing the expected output of a case with this library.
#pragma once

#include "conformance/cases/cases.h"

namespace dequant::conformance::vectors {

/// y of a case, with a code for each element. The inputs must be well formed. Fails when the node
/// is refused, with the error of compute_case().
Result<CaseTensor> compute(const Case& c);

}  // namespace dequant::conformance::vectors
