// Running one conformance case through the library.
#pragma once

#include "conformance/cases/cases.h"
#include "conformance/cases/outcome.h"
#include "dequant/status.h"

namespace dequant::conformance {

/// Plans the node, runs it and judges what comes out. The node is planned from types and shapes
/// before any code is looked at: a node that must be refused may come with data that cannot be.
/// Fails with malformed when the case contradicts the case format. Messages do not name the case.
Result<Outcome> run_case(const Case& c);

/// What the node of a case computes, whatever the case expects. Fails when the node is refused, and
/// as run_case() does.
Result<format::TensorData> compute_case(const Case& c);

}  // namespace dequant::conformance
