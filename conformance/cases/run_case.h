// Running one conformance case through the library.
#pragma once

#include "conformance/cases/cases.h"
#include "conformance/cases/outcome.h"
#include "dequant/status.h"
#include "format/io/tensor_data.h"

namespace dequant::conformance {

/// Plans the node of a case, runs it and compares the output. The node is planned from types and
/// shapes before any code is read: a case that must be refused may have impossible codes. Fails
/// with malformed when the case violates the case format. Messages do not name the case.
Result<Outcome> run_case(const Case& c);

/// Compares y with the y that the case expects, which it must, by the tolerance of the case. Fails
/// with malformed when the expected y is inconsistent.
Result<Outcome> judge_expected(const Case& c, const format::TensorData& y);

/// The output of the node of a case, whatever the case expects. Fails when the node is refused, and
/// as run_case() does.
Result<format::TensorData> compute_case(const Case& c);

}  // namespace dequant::conformance
