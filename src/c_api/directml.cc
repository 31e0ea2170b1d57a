// Operators of DirectML in C.
#include "dequant/directml.h"

#include "c_api/boundary.h"
#include "c_api/plan.h"

dequant_code dequant_plan_directml(const void* desc, uint32_t feature_level, dequant_plan** plan,
                                   dequant_error* error) {
  using dequant::invalid;
  if (plan != nullptr) *plan = nullptr;
  return dequant::c_api::guarded(error, [&]() -> dequant::Status {
    if (plan == nullptr) return invalid("plan: null, where the plan is to go");
    if (desc == nullptr) return invalid("desc: null");
    // Larger numbers are no values of the enumeration, so converting them is undefined.
    if (feature_level > 0x7FFF) return invalid("feature_level: ", feature_level, " is none");
    DEQUANT_TRY(dequant::directml::Operator op,
                dequant::directml::compile(*static_cast<const DML_OPERATOR_DESC*>(desc),
                                           static_cast<DML_FEATURE_LEVEL>(feature_level)));
    return dequant::c_api::give(std::move(op), plan);
  });
}
