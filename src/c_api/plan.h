// The object of a dequant_plan*.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "dequant.h"
#include "dequant/directml.h"
#include "dequant/plan.h"
#include "dequant/scheme.h"

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
Status check_plan(const dequant_plan* plan);

/// Sets *out to a new plan. Throws std::bad_alloc.
Status give(AnyPlan node, dequant_plan** out);

}  // namespace dequant::c_api
