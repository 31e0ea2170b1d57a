// What a case must yield: the output of its node by this library.
#pragma once

#include "conformance/cases/cases.h"

namespace dequant::conformance::vectors {

/// y of a case whose inputs are well formed, with a code for each element. Fails when the node is
/// refused, as run_case() says it.
Result<CaseTensor> compute(const Case& c);

}  // namespace dequant::conformance::vectors
