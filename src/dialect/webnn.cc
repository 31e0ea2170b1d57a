// WebNN's dequantizeLinear: equal ranks, and blocks in each dimension where scale is smaller.
#include "dequant/webnn.h"

#include <algorithm>
#include <vector>

#include "dialect/blocks.h"
#include "dialect/checks.h"
#include "dialect/linear.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant::webnn {
namespace {

using enum Element;

/// The specification does not list the last two; browsers and the web platform tests have them.
constexpr ElementSet kInput{int8, uint8, int32, uint32, int4, uint4};
constexpr ElementSet kScale{float32, float16};

Status check_types(const DequantizeLinear& node) {
  if (!kInput.contains(node.input.element)) {
    return invalid("input: element type ", name(node.input.element),
                   " is not one of int8, uint8, int32, uint32, int4, uint4");
  }
  if (!kScale.contains(node.scale.element)) {
    return invalid("scale: element type ", name(node.scale.element), " is not float32 or float16");
  }
  if (node.zero_point.element != node.input.element) {
    return invalid("zeroPoint: element type ", name(node.zero_point.element),
                   " differs from that of input, ", name(node.input.element));
  }
  return {};
}

/// Checks that the bytes of all tensors fit in int64; scale and zeroPoint have no more elements
/// than input.
Status check_input(const DequantizeLinear& node) {
  const Shape input = node.input.shape;
  DEQUANT_CHECK(check_rank("input", input, kMaxRank));
  for (size_t d = 0; d < input.size(); ++d) {
    if (input[d] >= 1) continue;
    return invalid("input: dimension ", d, " of ", to_string(input), " is less than 1");
  }
  const auto count = element_count(input);
  if (!count) return invalid("input: ", count.error().message);
  for (const Element element : {node.input.element, node.scale.element}) {
    if (auto bytes = packed_bytes(element, *count); !bytes) {
      return invalid("input: ", bytes.error().message);
    }
  }
  return {};
}

Status check_params(const DequantizeLinear& node) {
  const Shape input = node.input.shape;
  const Shape scale = node.scale.shape;
  const Shape zero = node.zero_point.shape;
  if (scale.size() != input.size()) {
    return invalid("scale: shape ", to_string(scale), " has rank ", scale.size(),
                   " where that of input, ", to_string(input), ", is ", input.size(),
                   "; reshape it with dimensions of 1");
  }
  for (size_t d = 0; d < input.size(); ++d) {
    if (scale[d] >= 1 && input[d] % scale[d] == 0) continue;
    return invalid("scale: dimension ", d, " is ", scale[d], ", which does not divide ", input[d],
                   " of input (scale ", to_string(scale), ", input ", to_string(input), ")");
  }
  if (!std::equal(zero.begin(), zero.end(), scale.begin(), scale.end())) {
    return invalid("zeroPoint: shape ", to_string(zero), " differs from that of scale, ",
                   to_string(scale));
  }
  return {};
}

/// All tensors are packed, so a stride is the product of the later sizes.
std::vector<Dimension> dimensions_of(Shape input, Shape scale) {
  std::vector<Dimension> dimensions;
  std::vector<BlockedDimension> whole(input.size());
  int64_t elements = 1;
  int64_t blocks = 1;
  for (size_t d = input.size(); d-- > 0;) {
    const BlockedDimension::Param param{scale[d], blocks};
    whole[d] = {
        .size = input[d], .x = elements, .y = elements, .scale = param, .zero_point = param};
    elements *= input[d];
    blocks *= scale[d];
  }
  for (const BlockedDimension& d : whole) append_blocks(dimensions, d);
  return dimensions;
}

}  // namespace

Result<Plan> dequantize_linear(const DequantizeLinear& node) {
  DEQUANT_CHECK(check_types(node));
  DEQUANT_CHECK(check_input(node));
  DEQUANT_CHECK(check_params(node));

  Plan plan;
  plan.input = node.input.element;
  plan.scale = node.scale.element;
  plan.output = node.scale.element;
  plan.has_zero_point = true;
  return strided_plan(std::move(plan), dimensions_of(node.input.shape, node.scale.shape));
}

}  // namespace dequant::webnn
