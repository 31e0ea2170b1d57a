// The checks of run() and run_range(): of a plan, of a range, and of the caller's buffers. Each
// failed check has a sentence that names the field or buffer and its value.
#include "execute/check.h"

#include <algorithm>
#include <array>

#include "checked.h"
#include "dequant/tensor.h"
#include "element/codes.h"
#include "execute/ranges.h"
#include "kernel/kernel.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant {
namespace {

using Bytes = std::span<const std::byte>;

int width_of(Element element) { return traits(element).format.bits; }

/// True if the span holds `count` elements of so many bits. Sizes of a sound plan do not overflow.
bool holds(Bytes given, int bits, int64_t count) {
  return given.size() >= static_cast<uint64_t>(packed_size(bits, count)) &&
         (count == 0 || given.data() != nullptr);
}

/// True if the two have no byte in common.
bool are_disjoint(Bytes input, Bytes y) {
  const auto begin = [](Bytes b) { return reinterpret_cast<uintptr_t>(b.data()); };
  return input.empty() || y.empty() || begin(input) + input.size() <= begin(y) ||
         begin(y) + y.size() <= begin(input);
}

/// An input tensor: what the plan demands, and the caller's buffer.
struct Input {
  bool wanted;  ///< the plan has this tensor
  Bytes given;
  Element element;
  int64_t count;  ///< elements that the buffer must hold if the plan has this tensor
};

/// Calls visit(name, Input) for each input until visit returns false. Returns true if no call did.
template <class Visit>
bool every_input(const Plan& plan, const Extents& counts, const Buffers& b, const Visit& visit) {
  const bool ranges = takes_ranges(plan.rule);
  return visit("x", {true, b.x, plan.input, counts.x}) &&
         visit("scale", {!ranges, b.scale, plan.scale, counts.scale}) &&
         visit("zero_point",
               {plan.has_zero_point, b.zero_point, zero_point_element(plan), counts.zero_point}) &&
         visit("min_range", {ranges, b.min_range, plan.scale, counts.min_range}) &&
         visit("max_range", {ranges, b.max_range, plan.scale, counts.max_range}) &&
         visit("tensor_scale", {plan.parameters.tensor_scale != TensorScale::none, b.tensor_scale,
                                Element::float32, counts.tensor_scale}) &&
         visit("group_index", {plan.parameters.group_index.groups != 0, b.group_index,
                               Element::int32, counts.group_index});
}

/// The buffer of an input that the plan has is large enough and does not overlap y; the buffer of
/// any other input is empty. If y has no elements, every buffer may be null, that of a scale too.
bool is_good(const Input& i, Bytes y, bool y_is_empty) {
  if (!i.wanted) return i.given.empty();
  return (y_is_empty && i.given.data() == nullptr) ||
         (holds(i.given, width_of(i.element), i.count) && are_disjoint(i.given, y));
}

/// Why a span does not hold `count` elements.
Error too_small(std::string_view what, Bytes given, Element element, int64_t count) {
  const int64_t need = packed_size(width_of(element), count);
  if (given.data() == nullptr) return invalid(what, ": null, but ", need, " bytes are needed");
  return invalid(what, ": ", given.size(), " bytes given, ", need, " needed for ", count,
                 " elements of ", name(element));
}

/// Why is_good() is false for an input.
Error bad_input(std::string_view what, const Input& i) {
  if (!i.wanted) return invalid(what, ": ", i.given.size(), " bytes given for a plan without one");
  if (!holds(i.given, width_of(i.element), i.count)) {
    return too_small(what, i.given, i.element, i.count);
  }
  return invalid("y: overlaps ", what, "; give it memory of its own");
}

/// The error of the first buffer for which is_good() is false; else that of y.
[[gnu::cold, gnu::noinline]] Error bad_buffers(const Plan& plan, const Extents& counts,
                                               const Buffers& buffers) {
  Error error = too_small("y", buffers.y, plan.output, counts.y);
  every_input(plan, counts, buffers, [&](std::string_view what, const Input& input) {
    const bool good = is_good(input, buffers.y, counts.y == 0);
    if (!good) error = bad_input(what, input);
    return good;
  });
  return error;
}

/// How many of the first zero points of a float type one pass over whole bytes shows to be zeros:
/// all that fill whole bytes, or 0. A code is zero if all of its bits are zero, or all but the sign
/// bit where the type has a negative zero.
int64_t zeros_at_front(Element x, Bytes codes, int64_t count) {
  const int width = width_of(x);
  if (width > 8 || 8 % width != 0) return 0;  // sign bits differ from byte to byte
  const uint32_t sign = uint32_t{1} << (width - 1);
  const uint32_t code = (sign << 1) - (is_floating_zero_point(x, sign) ? sign + 1 : 1);
  uint32_t mask = 0;
  for (int shift = 0; shift < 8; shift += width) mask |= code << shift;
  const int64_t each = 8 / width;
  uint8_t seen = 0;
  for (const std::byte b : codes.first(static_cast<size_t>(count / each))) {
    seen |= static_cast<uint8_t>(b);
  }
  return (seen & mask) == 0 ? count / each * each : 0;
}

/// Every zero point of a float x is zero.
Status check_float_zeros(const Plan& plan, Bytes zero_point, int64_t count) {
  if (traits(plan.input).kind != Kind::floating || count == 0) return {};
  for (int64_t i = zeros_at_front(plan.input, zero_point, count); i < count; ++i) {
    const uint32_t code = load_code(width_of(plan.input), zero_point.data(), i);
    if (!is_floating_zero_point(plan.input, code)) {
      return invalid("zero_point: element ", i, " has code ", code, ", which is not zero; a ",
                     name(plan.input), " x has no other zero point");
    }
  }
  return {};
}

bool is_scale(Element element) {
  return is_output(element) || element == Element::float8e8m0 || element == Element::float8e4m3fn;
}

/// Every entry of a group index is a number from 0 to groups - 1.
Status check_group_index(const Plan& plan, Bytes index, int64_t count) {
  const int64_t groups = plan.parameters.group_index.groups;
  for (int64_t i = 0; i < count; ++i) {
    const auto group = static_cast<int32_t>(load_code(32, index.data(), i));
    if (group < 0 || group >= groups) {
      return invalid("group_index: element ", i, " is ", group, ", which is none of ", groups,
                     " groups");
    }
  }
  return {};
}

/// The elements of x, y and scale are in elements.def, and may be an input, an output, a scale.
Status check_elements(const Plan& plan) {
  const auto known = [](Element e) { return static_cast<size_t>(e) < kTraits.size(); };
  const auto number = [](auto e) { return static_cast<int>(e); };
  if (!known(plan.input) || !is_input(plan.input)) {
    return invalid("plan.input: element ", number(plan.input), " is nothing to dequantize");
  }
  if (!known(plan.output) || !is_output(plan.output)) {
    return invalid("plan.output: element ", number(plan.output), " is no output");
  }
  if (!known(plan.scale) || !is_scale(plan.scale)) {
    return invalid("plan.scale: element ", number(plan.scale), " is no scale");
  }
  return {};
}

Status check_rule(const Plan& plan) {
  if (plan.rule > Rule::documented_scaled) {
    return invalid("plan.rule: ", static_cast<int>(plan.rule), " is no rule");
  }
  if (!takes_ranges(plan.rule)) return {};
  const auto wrong = [&](const auto&... why) {
    return invalid("plan.rule: ", name(plan.rule), " ", why...);
  };
  if (range_index(plan.input) == kRangeElements.size()) {
    return wrong("takes no x of ", name(plan.input));
  }
  if (plan.scale != Element::float32) return wrong("takes ranges of float32 only");
  if (plan.has_zero_point || plan.implicit_zero_point != 0) return wrong("takes no zero point");
  if (plan.granularity == Granularity::strided || plan.granularity == Granularity::blocked) {
    return wrong("is per tensor or per axis");
  }
  if (is_documented(plan.rule)) {
    if (plan.granularity != Granularity::per_tensor) return wrong("is per tensor");
    if (plan.output != Element::float32) return wrong("yields float32 only");
  }
  return {};
}

Status check_implicit_zero_point(const Plan& plan) {
  const int64_t zero = plan.implicit_zero_point;
  if (zero == 0) return {};
  const bool is_signed = kind(plan.input) == Kind::signed_integer;
  const int64_t count = kind(plan.input) == Kind::floating ? 0 : int64_t{1} << bits(plan.input);
  const int64_t lowest = is_signed ? -count / 2 : 0;
  if (zero >= lowest && zero < lowest + count && !plan.has_zero_point) return {};
  return invalid("plan.implicit_zero_point: ", zero, " is no zero point of ", name(plan.input),
                 plan.has_zero_point ? " that is given zero points" : "");
}

/// Zero points of another element than x, and their offset.
Status check_stored_zero_points(const Plan& plan) {
  const Parameters& p = plan.parameters;
  const auto number = [](auto e) { return static_cast<int>(e); };
  if (p.zero_point_overflow > ZeroPointOverflow::carry) {
    return invalid("parameters.zero_point_overflow: ", number(p.zero_point_overflow), " is none");
  }
  const bool defaults =
      !p.zero_point && p.zero_point_offset == 0 && p.zero_point_overflow == ZeroPointOverflow::keep;
  if (defaults) return {};
  if (!plan.has_zero_point) {
    return invalid("parameters: a zero point of its own kind for a plan without zero points");
  }
  const Element zero = zero_point_element(plan);
  if (static_cast<size_t>(zero) >= kTraits.size()) {
    return invalid("parameters.zero_point: element ", number(zero), " is none");
  }
  const bool floating = kind(zero) == Kind::floating;
  const bool integer_x = kind(plan.input) != Kind::floating;
  if (!integer_x || bits(plan.input) > (floating ? 8 : 16) ||
      (floating ? !is_output(zero) : bits(zero) > 8)) {
    return invalid("parameters.zero_point: ", name(plan.input), " has no zero points of ",
                   name(zero), " with an offset of ", p.zero_point_offset);
  }
  const int32_t offset = p.zero_point_offset;
  if (offset < -256 || offset > 256 || (floating && offset != 0)) {
    return invalid("parameters.zero_point_offset: ", offset,
                   floating ? " to a float" : " is not within -256 to 256");
  }
  if (p.zero_point_overflow == ZeroPointOverflow::keep) return {};
  const bool words = kind(zero) == Kind::unsigned_integer && 32 % bits(zero) == 0;
  if (floating || (p.zero_point_overflow == ZeroPointOverflow::carry && !words)) {
    return invalid("parameters.zero_point_overflow: zero points of ", name(zero),
                   floating ? " have no bits to stay within" : " do not fill words of 32 bits");
  }
  return {};
}

/// True if all parameters have their defaults. Few instructions: run() asks this for every small
/// tensor.
bool are_defaults(const Parameters& p) {
  const int64_t index = p.group_index.groups | p.group_index.scale | p.group_index.zero_point;
  return (index | p.zero_point_offset | static_cast<int>(p.tensor_scale) |
          static_cast<int>(p.zero_point_overflow) | int{p.infinite_e8m0} |
          int{p.zero_point.has_value()}) == 0;
}

Status check_parameters(const Plan& plan) {
  const Parameters& p = plan.parameters;
  if (are_defaults(p)) return {};
  if (takes_ranges(plan.rule)) {
    return invalid("parameters: ", name(plan.rule), " has none");
  }
  if (p.tensor_scale > TensorScale::divide) {
    return invalid("parameters.tensor_scale: ", static_cast<int>(p.tensor_scale), " is none");
  }
  if (p.infinite_e8m0 && plan.scale != Element::float8e8m0) {
    return invalid("parameters.infinite_e8m0: a scale of ", name(plan.scale),
                   " has another code for infinity, or none");
  }
  if (p.group_index != GroupIndex{} && plan.granularity != Granularity::strided) {
    return invalid("parameters.group_index: only strided plans have one");
  }
  return check_stored_zero_points(plan);
}

}  // namespace

Status check_plan(const Plan& plan) {
  DEQUANT_CHECK(check_elements(plan));
  DEQUANT_CHECK(check_rule(plan));
  DEQUANT_CHECK(check_implicit_zero_point(plan));
  DEQUANT_CHECK(check_parameters(plan));
  if (plan.granularity > Granularity::strided) {
    return invalid("plan.granularity: ", static_cast<int>(plan.granularity), " is no granularity");
  }
  if (plan.block < 1) return invalid("plan.block: ", plan.block, " is less than 1");
  Extents e;
  if (plan.granularity == Granularity::strided) {
    if (plan.dimensions.empty()) return invalid("plan.dimensions: a strided plan has at least one");
    DEQUANT_CHECK(check_dimensions(plan));
    e = extents(plan);
  } else {
    if (!plan.dimensions.empty()) return invalid("plan.dimensions: only strided plans have them");
    const std::array shape{plan.outer, plan.axis, plan.inner};
    const auto count = checked_count(shape);
    if (!count) return element_count(shape).error();
    e.x = e.y = *count;
    e.scale = e.zero_point = scale_count(plan);
    e.zero_point = std::max(e.zero_point, extents(plan).zero_point);
  }
  const auto fits = [](Element element, int64_t count) {
    return checked_bytes(width_of(element), count).has_value();
  };
  if (!fits(plan.input, e.x)) return packed_bytes(plan.input, e.x).error();
  if (!fits(plan.scale, e.scale)) return packed_bytes(plan.scale, e.scale).error();
  const Element zero = zero_point_element(plan);
  if (!fits(zero, e.zero_point)) return packed_bytes(zero, e.zero_point).error();
  if (!fits(Element::int32, e.group_index)) {
    return packed_bytes(Element::int32, e.group_index).error();
  }
  if (!fits(plan.output, e.y)) return packed_bytes(plan.output, e.y).error();
  return {};
}

Status check_range(const Plan& plan, Range elements) {
  const int64_t count = element_count(plan);
  if (elements.begin < 0 || elements.end > count || elements.begin > elements.end) {
    return invalid("elements: [", elements.begin, ", ", elements.end, ") is not within the ", count,
                   " of the plan");
  }
  return {};
}

Status check_buffers(const Plan& plan, const Extents& counts, const Buffers& buffers) {
  const bool good = every_input(plan, counts, buffers, [&](std::string_view, const Input& input) {
    return is_good(input, buffers.y, counts.y == 0);
  });
  if (!good || !holds(buffers.y, width_of(plan.output), counts.y)) {
    return bad_buffers(plan, counts, buffers);
  }
  if (plan.parameters.group_index.groups != 0) {
    DEQUANT_CHECK(check_group_index(plan, buffers.group_index, counts.group_index));
  }
  if (traits(plan.input).kind != Kind::floating || buffers.zero_point.data() == nullptr) return {};
  return check_float_zeros(plan, buffers.zero_point, counts.zero_point);
}

bool is_simple(const Plan& plan, const Buffers& b) noexcept {
  const bool one_scale = plan.granularity == Granularity::per_tensor && plan.outer == 1 &&
                         plan.axis == 1 && plan.block >= 1 && plan.dimensions.empty() &&
                         plan.inner > 0 && plan.inner <= kSimpleElements;
  const bool integers = width_of(plan.input) != 0 && traits(plan.input).kind != Kind::floating;
  const bool floats = plan.scale == Element::float32 &&
                      (plan.output == Element::float32 || plan.output == Element::float16 ||
                       plan.output == Element::bfloat16);
  const bool scales = plan.rule == Rule::subtract_then_scale && plan.implicit_zero_point == 0 &&
                      are_defaults(plan.parameters);
  if (!one_scale || !integers || !floats || !scales) return false;

  const auto holds_bytes = [](Bytes given, int64_t bytes) {
    return given.data() != nullptr && given.size() >= static_cast<uint64_t>(bytes);
  };
  const int64_t x_bits = width_of(plan.input);
  const int64_t y_bytes = plan.output == Element::float32 ? 4 : 2;
  const bool zero_point = plan.has_zero_point ? holds_bytes(b.zero_point, (x_bits + 7) / 8) &&
                                                    are_disjoint(b.zero_point, b.y)
                                              : b.zero_point.empty();
  return zero_point && holds_bytes(b.x, (plan.inner * x_bits + 7) / 8) && are_disjoint(b.x, b.y) &&
         holds_bytes(b.scale, 4) && are_disjoint(b.scale, b.y) &&
         holds_bytes(b.y, plan.inner * y_bytes) && b.min_range.empty() && b.max_range.empty() &&
         b.tensor_scale.empty() && b.group_index.empty();
}

Status check_zero_points(const Plan& plan, Bytes zero_point) {
  if (kind(plan.input) != Kind::floating) return {};
  const auto held = static_cast<int64_t>(std::min<uint64_t>(zero_point.size(), INT64_MAX / 8));
  return check_float_zeros(plan, zero_point,
                           std::min(held * 8 / bits(plan.input), scale_count(plan)));
}

}  // namespace dequant
