// Planning the node of a case, for each dialect.
//
// Each function fails with invalid_argument or unsupported when the dialect refuses the node, for
// example because of an attribute that the operator does not have. It fails with malformed when the
// case violates the case format. No code of an input is read. Messages do not name the case.
#pragma once

#include "conformance/cases/cases.h"
#include "dequant/directml.h"
#include "dequant/plan.h"
#include "dequant/scheme.h"

namespace dequant::conformance {

Result<Plan> plan_onnx(const Case& c);
Result<Plan> plan_microsoft(const Case& c);
Result<Plan> plan_tensorflow(const Case& c);
Result<Plan> plan_webnn(const Case& c);
Result<dequant::directml::Operator> compile_directml(const Case& c);

/// The tensors of a scheme, in the order of Case::inputs, which is that of the plan's indices.
Result<SchemePlan> plan_checkpoint(const Case& c);

/// The scheme of that name, or null.
const Scheme* find_scheme(std::string_view name);

}  // namespace dequant::conformance
