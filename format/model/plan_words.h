// Words and numbers of a plan for reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant::format {

/// The granularity in words where Recipe::codes_are_values.
inline constexpr std::string_view kNoScale = "none: codes are values";

/// The granularity as a key: "per_tensor", "per_axis", "blocked", "strided".
std::string_view granularity_key(const Plan& plan);

/// Elements of a block; 0 where the plan is not blocked.
inline int64_t block_size(const Plan& plan) {
  return plan.granularity == Granularity::blocked ? plan.block : 0;
}

/// The type of x: an element, or a block type.
std::string_view stored_type(const Plan& plan);

/// The type of the codes: that of x, or of codes with a layout "uint3" or "int4" by their bits.
std::string codes_text(const Plan& plan);

/// Which elements of a dense tensor of that shape share a scale: "per axis 1" and "blocked by 32 on
/// axis 0" where the plan is of one axis, or else "per tensor", "per row", "groups of 32", "blocks
/// of 128 x 128", "4 groups by an index". The shape must have the elements of the plan.
std::string granularity_text(const Plan& plan, std::optional<int64_t> axis, Shape shape);

}  // namespace dequant::format
