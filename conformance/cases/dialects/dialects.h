// From a case to a plan: each dialect reads the version, the inputs and the attributes that it has.
//
// Each function fails with invalid_argument or unsupported when the dialect refuses the node, also
// for an attribute that its operator does not have, and with malformed when the case contradicts
// the case format. No code of an input is looked at. Messages do not name the case.
#pragma once

#include "conformance/cases/cases.h"
#include "dequant/directml.h"
#include "dequant/plan.h"

namespace dequant::conformance {

Result<Plan> plan_onnx(const Case& c);
Result<Plan> plan_microsoft(const Case& c);
Result<Plan> plan_tensorflow(const Case& c);
Result<Plan> plan_webnn(const Case& c);
Result<dequant::directml::Operator> compile_directml(const Case& c);

}  // namespace dequant::conformance
