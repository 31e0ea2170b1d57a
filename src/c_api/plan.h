// The object of a dequant_plan*.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "dequant.h"
#include "dequant/directml.h"
#include "dequant/plan.h"

struct dequant_plan {
  /// Distinguishes a plan from other memory, and from a freed plan whose memory is still readable.
  static constexpr uint64_t kMagic = 0x6E616C5074657571;

  uint64_t magic = kMagic;
  std::variant<dequant::Plan, dequant::directml::Operator> node;
  std::string text;
  dequant_sizes sizes{};
};

namespace dequant::c_api {

/// Fails unless the pointer is that of a plan that was not freed.
Status check_plan(const dequant_plan* plan);

/// Sets *out to a new plan. Throws std::bad_alloc.
Status give(std::variant<Plan, directml::Operator> node, dequant_plan** out);

}  // namespace dequant::c_api
