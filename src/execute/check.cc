// The checks of run() and run_range(): of a plan, of a range, and of the caller's buffers. Each
// failed check has a sentence that names the field or buffer and its value.
#include "execute/check.h"

#include <algorithm>
#include <array>

#include "checked.h"
#include "dequant/tensor.h"
#include "element/codes.h"
#include "execute/check_parameters.h"
#include "execute/ranges.h"
#include "kernel/kernel.h"
#include "plan/packing.h"
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

/// The bytes of `codes` codes of a Packing from one on at which a slice begins.
int64_t bytes_held(const Packing& packing, int64_t begin, int64_t codes) {
  const Range bytes = bytes_of(packing, {begin, begin + codes});
  return bytes.end - bytes.begin;
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
  const Packing* packing = nullptr;
  int64_t begin = 0;  ///< with a Packing: the index of the first of them

  int64_t bytes() const {
    return packing == nullptr ? packed_size(width_of(element), count)
                              : bytes_held(*packing, begin, count);
  }
  bool holds_all() const {
    return packing == nullptr ? holds(given, width_of(element), count)
                              : holds(given, 8, bytes_held(*packing, begin, count));
  }
};

constexpr BufferNames kNames;

const BufferNames& names_of(const Buffers& b) { return b.names != nullptr ? *b.names : kNames; }

/// Calls visit(name, Input) for each input until visit returns false. Returns true if no call did.
template <class Visit>
bool every_input(const Plan& plan, const Demand& demand, const Buffers& b, const Visit& visit) {
  const bool ranges = takes_ranges(plan.rule);
  const Extents& counts = demand.counts;
  const BufferNames& names = names_of(b);
  const auto packing = [](const Packing& p) { return is_packing(p) ? &p : nullptr; };
  return visit(names.x, {true, b.x, plan.input, counts.x, packing(plan.parameters.x_packing),
                         demand.x_begin}) &&
         visit(names.scale,
               {!ranges && !plan.parameters.x_blocks, b.scale, plan.scale, counts.scale}) &&
         visit(names.zero_point,
               {plan.has_zero_point, b.zero_point, zero_point_element(plan), counts.zero_point,
                packing(plan.parameters.zero_point_packing)}) &&
         visit(names.min_range, {ranges, b.min_range, plan.scale, counts.min_range}) &&
         visit(names.max_range, {ranges, b.max_range, plan.scale, counts.max_range}) &&
         visit(names.tensor_scale, {plan.parameters.tensor_scale != TensorScale::none,
                                    b.tensor_scale, Element::float32, counts.tensor_scale}) &&
         visit(names.group_index, {plan.parameters.group_index.groups != 0, b.group_index,
                                   Element::int32, counts.group_index}) &&
         visit(names.codebook,
               {plan.parameters.codebook, b.codebook, Element::float32, counts.codebook});
}

/// The buffer of an input that the plan has is large enough and does not overlap y; the buffer of
/// any other input is empty. If y has no elements, every buffer may be null, that of a scale too.
bool is_good(const Input& i, Bytes y, bool y_is_empty) {
  if (!i.wanted) return i.given.empty();
  return (y_is_empty && i.given.data() == nullptr) || (i.holds_all() && are_disjoint(i.given, y));
}

/// Why a span does not hold the elements of a tensor.
Error too_small(std::string_view what, const Input& i) {
  if (i.given.data() == nullptr) {
    return invalid(what, ": null, but ", i.bytes(), " bytes are needed");
  }
  if (i.packing != nullptr) {
    return invalid(what, ": ", i.given.size(), " bytes given, ", i.bytes(), " needed for ", i.count,
                   " codes of ", i.packing->bits, " bits");
  }
  return invalid(what, ": ", i.given.size(), " bytes given, ", i.bytes(), " needed for ", i.count,
                 " elements of ", name(i.element));
}

/// Why is_good() is false for an input.
Error bad_input(std::string_view what, const Input& i) {
  if (!i.wanted) return invalid(what, ": ", i.given.size(), " bytes given for a plan without one");
  if (!i.holds_all()) return too_small(what, i);
  return invalid("y: overlaps ", what, "; give it memory of its own");
}

/// The error of the first buffer for which is_good() is false; else that of y.
[[gnu::cold, gnu::noinline]] Error bad_buffers(const Plan& plan, const Demand& demand,
                                               const Buffers& buffers) {
  Error error = too_small("y", {true, buffers.y, plan.output, demand.counts.y});
  every_input(plan, demand, buffers, [&](std::string_view what, const Input& input) {
    const bool good = is_good(input, buffers.y, demand.counts.y == 0);
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
Status check_float_zeros(const Plan& plan, Bytes zero_point, int64_t count, std::string_view what) {
  if (traits(plan.input).kind != Kind::floating || count == 0) return {};
  for (int64_t i = zeros_at_front(plan.input, zero_point, count); i < count; ++i) {
    const uint32_t code = load_code(width_of(plan.input), zero_point.data(), i);
    if (!is_floating_zero_point(plan.input, code)) {
      return invalid(what, ": element ", i, " has code ", code, ", which is not zero; a ",
                     name(plan.input), " x has no other zero point");
    }
  }
  return {};
}

bool is_scale(Element element) {
  return is_output(element) || element == Element::float8e8m0 || element == Element::float8e4m3fn;
}

/// Every entry of a group index is a number from 0 to groups - 1.
Status check_group_index(const Plan& plan, Bytes index, int64_t count, std::string_view what) {
  const int64_t groups = plan.parameters.group_index.groups;
  for (int64_t i = 0; i < count; ++i) {
    const auto group = static_cast<int32_t>(load_code(32, index.data(), i));
    if (group < 0 || group >= groups) {
      return invalid(what, ": element ", i, " is ", group, ", which is none of ", groups,
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

/// The tensor of a Packing holds so many codes, and its bytes fit in 64 bits.
Status check_packed_bytes(const Packing& packing, std::string_view what, int64_t codes) {
  if (!is_packing(packing) || checked_bytes(packing, codes)) return {};
  return invalid(what, ": ", codes, " codes of ", packing.bits, " bits are more than ",
                 packing.columns == 0 ? "2^63 - 1 bytes hold" : "its columns hold");
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
    if (plan.parameters.x_blocks) return check_block_sizes(plan, *count);
    e.x = e.y = *count;
    e.scale = e.zero_point = scale_count(plan);
    e.zero_point = std::max(e.zero_point, extents(plan).zero_point);
  }
  const auto fits = [](Element element, int64_t count) {
    return checked_bytes(width_of(element), count).has_value();
  };
  DEQUANT_CHECK(check_packed_bytes(plan.parameters.x_packing, "x", e.x));
  DEQUANT_CHECK(check_packed_bytes(plan.parameters.zero_point_packing, "zero_point", e.zero_point));
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

Status check_buffer_sizes(const Plan& plan, const Demand& demand, const Buffers& buffers) {
  const Extents& counts = demand.counts;
  const bool good = every_input(plan, demand, buffers, [&](std::string_view, const Input& input) {
    return is_good(input, buffers.y, counts.y == 0);
  });
  if (good && holds(buffers.y, width_of(plan.output), counts.y)) return {};
  return bad_buffers(plan, demand, buffers);
}

Status check_buffers(const Plan& plan, const Demand& demand, const Buffers& buffers) {
  DEQUANT_CHECK(check_buffer_sizes(plan, demand, buffers));
  const Extents& counts = demand.counts;
  if (plan.parameters.group_index.groups != 0) {
    DEQUANT_CHECK(check_group_index(plan, buffers.group_index, counts.group_index,
                                    names_of(buffers).group_index));
  }
  if (traits(plan.input).kind != Kind::floating || buffers.zero_point.data() == nullptr) return {};
  return check_float_zeros(plan, buffers.zero_point, counts.zero_point,
                           names_of(buffers).zero_point);
}

bool is_simple(const Plan& plan, const Buffers& b) noexcept {
  // Statements instead of one expression: compilers load all of it before the first comparison.
  const bool one_scale = plan.granularity == Granularity::per_tensor && plan.outer == 1 &&
                         plan.axis == 1 && plan.block >= 1 && plan.dimensions.empty() &&
                         plan.inner > 0 && plan.inner <= kSimpleElements;
  if (!one_scale) return false;
  const bool integers = width_of(plan.input) != 0 && traits(plan.input).kind != Kind::floating;
  if (!integers || plan.scale != Element::float32) return false;
  if (plan.rule != Rule::subtract_then_scale || plan.implicit_zero_point != 0) return false;
  if (plan.output != Element::float32 && plan.output != Element::float16 &&
      plan.output != Element::bfloat16) {
    return false;
  }
  if (!are_defaults(plan.parameters)) return false;

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
         holds_bytes(b.y, plan.inner * y_bytes) &&
         (b.min_range.size() | b.max_range.size() | b.tensor_scale.size() | b.group_index.size() |
          b.codebook.size()) == 0;
}

Status check_zero_points(const Plan& plan, Bytes zero_point) {
  if (kind(plan.input) != Kind::floating) return {};
  const auto held = static_cast<int64_t>(std::min<uint64_t>(zero_point.size(), INT64_MAX / 8));
  return check_float_zeros(plan, zero_point,
                           std::min(held * 8 / bits(plan.input), scale_count(plan)),
                           kNames.zero_point);
}

}  // namespace dequant
