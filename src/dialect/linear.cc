// The checks of all versions of DequantizeLinear, in the order of the specification: attributes,
// types, output type, granularity, zero point.
#include "dialect/linear.h"

#include <algorithm>

#include "checked.h"
#include "dialect/axis.h"
#include "text.h"

namespace dequant {
namespace {

bool is_single(Shape shape) { return shape.empty() || (shape.size() == 1 && shape[0] == 1); }

bool same(Shape a, Shape b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

Status check_attributes(const LinearVersion& v, const LinearNode& node) {
  const auto absent = [&](std::string_view name) {
    return invalid(name, ": ", v.name, " has no such attribute");
  };
  if (node.axis && !v.has_axis) return absent("axis");
  if (node.block_size && !v.has_block_size) return absent("block_size");
  if (node.output_dtype && !v.has_output_dtype) return absent("output_dtype");
  return {};
}

Status check_types(const LinearVersion& v, const LinearNode& node) {
  if (!v.x.contains(node.x.element)) {
    return invalid("x: element type ", name(node.x.element), " is not allowed in ", v.name);
  }
  if (!v.scale.contains(node.scale.element)) {
    return invalid("x_scale: element type ", name(node.scale.element), " is not allowed in ",
                   v.name);
  }
  if (node.zero_point && node.zero_point->element != node.x.element) {
    return invalid("x_zero_point: element type ", name(node.zero_point->element),
                   " differs from that of x, ", name(node.x.element), " (", v.name, ")");
  }
  return {};
}

Result<Element> output_type(const LinearNode& node) {
  if (const int64_t code = node.output_dtype.value_or(0); code != 0) {
    const auto element = element_from_onnx(code);
    if (element && is_output(*element)) return *element;
    return invalid("output_dtype: ", code, element ? concat(" (", name(*element), ")") : "",
                   " is not float32 (1), float16 (10) or bfloat16 (16)");
  }
  if (is_output(node.scale.element)) return node.scale.element;
  return invalid("output_dtype: must be set when x_scale is ", name(node.scale.element),
                 ", whose type the output cannot have");
}

/// Checks that the bytes of all tensors fit in int64, the output included.
Status check_sizes(const LinearNode& node, Element output) {
  const auto sized = [](std::string_view what, Element element, Shape shape) -> Status {
    auto count = element_count(shape);
    if (!count) return invalid(what, ": ", count.error().message);
    if (auto bytes = packed_bytes(element, *count); !bytes) {
      return invalid(what, ": ", bytes.error().message);
    }
    return {};
  };
  DEQUANT_CHECK(sized("x", node.x.element, node.x.shape));
  DEQUANT_CHECK(sized("y", output, node.x.shape));
  DEQUANT_CHECK(sized("x_scale", node.scale.element, node.scale.shape));
  if (node.zero_point) {
    DEQUANT_CHECK(sized("x_zero_point", node.zero_point->element, node.zero_point->shape));
  }
  return {};
}

/// Checks the shape of blocked scales, one for each block of at most `block_size` elements of the
/// axis, and makes the plan blocked.
Status set_blocked(Plan& plan, const LinearNode& node) {
  const int64_t block = *node.block_size;
  const Shape x = node.x.shape;
  const Shape scale = node.scale.shape;
  if (scale.size() != x.size()) {
    return invalid("block_size: ", block, " needs x_scale of the rank of x, but x_scale is ",
                   to_string(scale), " and x is ", to_string(x));
  }
  const auto rank = static_cast<int64_t>(x.size());
  if (rank == 0) return invalid("block_size: ", block, " cannot apply to x of rank 0");
  DEQUANT_TRY(const int64_t axis, normalize_axis(node.axis.value_or(1), rank));
  for (size_t d = 0; d < x.size(); ++d) {
    const bool on_axis = static_cast<int64_t>(d) == axis;
    const int64_t want = on_axis ? ceil_div(x[d], block) : x[d];
    if (scale[d] != want) {
      return invalid("x_scale: dimension ", d, " is ", scale[d], " where ",
                     on_axis ? "ceil(x / block_size)" : "that of x", " is ", want, " (x ",
                     to_string(x), ", x_scale ", to_string(scale), ", axis ", axis, ", block_size ",
                     block, ")");
    }
  }
  plan.granularity = Granularity::blocked;
  view_at(plan, x, axis);
  plan.block = std::min(block, std::max<int64_t>(plan.axis, 1));
  return {};
}

Status set_granularity(Plan& plan, const LinearVersion& v, const LinearNode& node) {
  const int64_t block = node.block_size.value_or(0);
  if (block < 0) return invalid("block_size: ", block, " is negative");
  if (block > 0) return set_blocked(plan, node);

  const Shape x = node.x.shape;
  const Shape scale = node.scale.shape;
  if (is_single(scale)) {
    plan.granularity = Granularity::per_tensor;
    plan.inner = *element_count(x);
    return {};
  }
  if (scale.size() > 1) {
    return invalid("x_scale: shape ", to_string(scale), " of rank ", scale.size(),
                   v.has_block_size ? " needs a block_size" : " must be a scalar or 1-D", " (",
                   v.name, ")");
  }
  if (!v.has_axis)
    return invalid("x_scale: must be a scalar in ", v.name, ", not ", to_string(scale));
  DEQUANT_TRY(const int64_t axis,
              normalize_axis(node.axis.value_or(1), static_cast<int64_t>(x.size())));
  const int64_t size = x[static_cast<size_t>(axis)];
  if (scale[0] != size) {
    return invalid("x_scale: ", scale[0], " scales for ", size, " slices of x ", to_string(x),
                   " on axis ", axis);
  }
  plan.granularity = Granularity::per_axis;
  view_at(plan, x, axis);
  return {};
}

Status check_zero_point(const LinearNode& node) {
  if (!node.zero_point) return {};
  const Shape zero = node.zero_point->shape;
  const Shape scale = node.scale.shape;
  if (same(zero, scale) || (is_single(zero) && is_single(scale))) return {};
  return invalid("x_zero_point: shape ", to_string(zero), " differs from that of x_scale, ",
                 to_string(scale));
}

}  // namespace

Result<Plan> plan_linear(const LinearVersion& version, const LinearNode& node) {
  DEQUANT_CHECK(check_attributes(version, node));
  DEQUANT_CHECK(check_types(version, node));
  DEQUANT_TRY(const Element output, output_type(node));
  DEQUANT_CHECK(check_sizes(node, output));

  Plan plan;
  plan.input = node.x.element;
  plan.scale = node.scale.element;
  plan.output = output;
  plan.has_zero_point = node.zero_point.has_value();
  DEQUANT_CHECK(set_granularity(plan, version, node));
  DEQUANT_CHECK(check_zero_point(node));
  return plan;
}

}  // namespace dequant
