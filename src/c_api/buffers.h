// The memory of a C program as spans.
#pragma once

#include "c_api/boundary.h"
#include "c_api/plan.h"

namespace dequant::c_api {

/// The buffers of a struct that was checked. Fails with invalid_argument where a pointer is null,
/// or bytes reach beyond the end of memory.
Result<Buffers> buffers_of(const dequant_buffers& c);

/// The buffers of the inputs of a scheme's plan, with the codebook that the scheme fixes, if it
/// does, and with names that belong to `scheme`. Fails as above, and where the number of tensors is
/// not that of the node.
Result<Buffers> buffers_of(const SchemeNodePlan& scheme, const dequant_scheme_buffers& c);

}  // namespace dequant::c_api
