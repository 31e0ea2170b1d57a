// The object of a dequant_plan*.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "dequant.h"
#include "dequant/directml.h"
#include "dequant/plan.h"
#include "dequant/scheme.h"
#include "text.h"

namespace dequant::c_api {

/// The plan of a scheme, and how many tensors its node had.
struct SchemeNodePlan {
  SchemePlan dense;
  size_t tensor_count = 0;
};

using AnyPlan = std::variant<Plan, directml::Operator, SchemeNodePlan>;

}  // namespace dequant::c_api

struct dequant_plan {
  /// Distinguishes a plan from other memory, and from a freed plan whose memory is still readable.
  static constexpr uint64_t kMagic = 0x6E616C5074657571;

  uint64_t magic = kMagic;
  dequant::c_api::AnyPlan node;
  std::string text;
  dequant_sizes sizes{};
};

namespace dequant::c_api {

/// Fails unless the pointer is that of a plan that was not freed.
inline Status check_plan(const dequant_plan* plan) {
  if (plan == nullptr) return invalid("plan: null");
  if (plan->magic == dequant_plan::kMagic) return {};
  return invalid("plan: no plan that dequant made, or one that was freed");
}

inline const Plan& plan_of(const AnyPlan& node) {
  if (const auto* op = std::get_if<directml::Operator>(&node)) return op->plan;
  if (const auto* scheme = std::get_if<SchemeNodePlan>(&node)) return scheme->dense.plan;
  return std::get<Plan>(node);
}

/// Sets *out to a new plan. Throws std::bad_alloc.
Status give(AnyPlan node, dequant_plan** out);

}  // namespace dequant::c_api
