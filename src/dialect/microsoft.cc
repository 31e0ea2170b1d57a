// com.microsoft DequantizeLinear: one row.
#include "dequant/microsoft.h"

#include "dialect/linear.h"
#include "text.h"

namespace dequant::microsoft {
namespace {

using enum Element;

constexpr LinearVersion kVersion{
    .name = "com.microsoft DequantizeLinear-1",
    .since = 1,
    .x = {int8, uint8, int16, uint16, int32, int4, uint4},
    .scale = {float32, float16},
    .has_axis = true,
    .has_block_size = false,
    .has_output_dtype = false,
};

}  // namespace

Status set_attribute(DequantizeLinear& node, std::string_view name, int64_t value) {
  if (name != "axis") return invalid(name, ": ", kVersion.name, " has no such attribute");
  node.axis = value;
  return {};
}

Result<Plan> dequantize_linear(const DequantizeLinear& node) {
  if (node.version != kVersion.since) {
    return Error{ErrorCode::unsupported,
                 concat("com.microsoft version ", node.version, ": only version 1 is known")};
  }
  return plan_linear(kVersion, {.x = node.x,
                                .scale = node.x_scale,
                                .zero_point = node.x_zero_point,
                                .axis = node.axis,
                                .block_size = {},
                                .output_dtype = {}});
}

}  // namespace dequant::microsoft
