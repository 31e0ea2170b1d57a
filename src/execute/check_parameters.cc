// The checks of parameters, each with a sentence that names the field and its value.
#include "execute/check_parameters.h"

#include <algorithm>
#include <bit>

#include "block/traits.h"
#include "checked.h"
#include "dequant/tensor.h"
#include "element/traits.h"
#include "plan/packing.h"
#include "text.h"

namespace dequant {
namespace {

int number(auto enumerator) { return static_cast<int>(enumerator); }

/// Zero points of another element than x, their offset and their role.
Status check_stored_zero_points(const Plan& plan) {
  const Parameters& p = plan.parameters;
  if (p.zero_point_overflow > ZeroPointOverflow::carry) {
    return invalid("parameters.zero_point_overflow: ", number(p.zero_point_overflow), " is none");
  }
  if (p.zero_point_role > ZeroPointRole::subtract_after) {
    return invalid("parameters.zero_point_role: ", number(p.zero_point_role), " is none");
  }
  const bool after = p.zero_point_role != ZeroPointRole::subtract_before;
  const bool defaults = !p.zero_point && p.zero_point_offset == 0 && !after &&
                        p.zero_point_overflow == ZeroPointOverflow::keep &&
                        !is_packing(p.zero_point_packing);
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
  if (after && !floating) {
    return invalid("parameters.zero_point_role: zero points of ", name(zero),
                   " are not added after the product; floats are");
  }
  const int32_t offset = p.zero_point_offset;
  if (offset < -256 || offset > 256 || (floating && offset != 0)) {
    return invalid("parameters.zero_point_offset: ", offset,
                   floating ? " to a float" : " is not within -256 to 256");
  }
  if (p.zero_point_overflow == ZeroPointOverflow::keep) return {};
  const bool words = kind(zero) == Kind::unsigned_integer && 32 % bits(zero) == 0 &&
                     !is_packing(p.zero_point_packing);
  if (floating || (p.zero_point_overflow == ZeroPointOverflow::carry && !words)) {
    return invalid("parameters.zero_point_overflow: zero points of ", name(zero),
                   floating ? " have no bits to stay within" : " do not fill words of 32 bits");
  }
  return {};
}

Status check_packings(const Plan& plan) {
  const Parameters& p = plan.parameters;
  const auto check = [](const Packing& packing, std::string_view what, Element element) -> Status {
    DEQUANT_CHECK(check_packing(packing, what));
    if (!is_packing(packing) || element == Element::uint8 || element == Element::int8) return {};
    return invalid(what, ": only codes of uint8 and int8 have one, not of ", name(element));
  };
  DEQUANT_CHECK(check(p.x_packing, "parameters.x_packing", plan.input));
  DEQUANT_CHECK(
      check(p.zero_point_packing, "parameters.zero_point_packing", zero_point_element(plan)));
  if (runs_down_columns(p.x_packing) && plan.granularity != Granularity::strided) {
    return invalid("parameters.x_packing.columns: ", p.x_packing.columns,
                   " of a plan that is not strided");
  }
  return {};
}

Status check_codebook(const Plan& plan) {
  if (!plan.parameters.codebook) return {};
  if (kind(plan.input) != Kind::unsigned_integer || bits(plan.input) > 8) {
    return invalid("parameters.codebook: codes of ", name(plan.input), " are no indices");
  }
  const bool before = plan.parameters.zero_point_role == ZeroPointRole::subtract_before;
  if (plan.implicit_zero_point != 0 || (plan.has_zero_point && before)) {
    return invalid("parameters.codebook: a zero point is subtracted from indices");
  }
  return {};
}

/// The least and the largest number.
struct Extremes {
  int64_t low;
  int64_t high;
};

Extremes extremes(Element element, const Packing& packing) {
  const int width = is_packing(packing) ? packing.bits : bits(element);
  const int64_t count = int64_t{1} << width;
  if (kind(element) == Kind::signed_integer) return {-count / 2, count / 2 - 1};
  return {0, count - 1};
}

/// x - zero_point is exact in the type to which results are rounded: then the result is that of
/// arithmetic in this type.
Status check_difference(const Plan& plan) {
  const Parameters& p = plan.parameters;
  const Element type = *p.result_rounding;
  if (p.codebook || kind(plan.input) == Kind::floating) return {};  // floats have 8 bits at most
  Extremes zero{plan.implicit_zero_point, plan.implicit_zero_point};
  if (plan.has_zero_point && p.zero_point_role == ZeroPointRole::subtract_before) {
    const Element element = zero_point_element(plan);
    if (kind(element) == Kind::floating) {
      if (element == type) return {};
      return invalid("parameters.result_rounding: ", name(type),
                     " does not hold differences rounded to ", name(element));
    }
    zero = extremes(element, p.zero_point_packing);
    if (p.zero_point_overflow == ZeroPointOverflow::keep) {
      zero = {zero.low + p.zero_point_offset, zero.high + p.zero_point_offset};
    }
  }
  const Extremes x = extremes(plan.input, p.x_packing);
  const int64_t largest = std::max(x.high - zero.low, zero.high - x.low);
  const int64_t exact = int64_t{1} << (traits(type).format.mantissa_bits + 1);
  if (largest <= exact) return {};
  return invalid("parameters.result_rounding: ", name(type),
                 " does not hold all of x - zero_point, ", "which is up to ", largest);
}

/// The second factors of scales and results, and their roundings.
Status check_results(const Plan& plan) {
  const Parameters& p = plan.parameters;
  const auto rounds = [](std::optional<Element> type) {
    return !type || *type == Element::float16 || *type == Element::bfloat16;
  };
  if (!rounds(p.scale_rounding)) {
    return invalid("parameters.scale_rounding: nothing is rounded to ", name(*p.scale_rounding));
  }
  if (!rounds(p.result_rounding)) {
    return invalid("parameters.result_rounding: nothing is rounded to ", name(*p.result_rounding));
  }
  constexpr uint32_t kInfinity = 0x7F800000;
  if ((std::bit_cast<uint32_t>(p.result_factor) & kInfinity) == kInfinity) {
    return invalid("parameters.result_factor: not a finite number");
  }
  return p.result_rounding ? check_difference(plan) : Status{};
}

/// A plan of blocks has nothing but the blocks, their shape, and perhaps a tensor scale.
Status check_blocks(const Plan& plan) {
  const BlockType type = *plan.parameters.x_blocks;
  const auto wrong = [&](const auto&... why) {
    return invalid("parameters.x_blocks: ", name(type), " ", why...);
  };
  if (static_cast<size_t>(type) >= kBlockTypes) {
    return invalid("parameters.x_blocks: ", number(type), " is no block type");
  }
  if (plan.input != Element::uint8) return wrong("in an x of ", name(plan.input), ", not of bytes");
  if (plan.scale != Element::float32) return wrong("has no stored scales of ", name(plan.scale));
  if (plan.has_zero_point || plan.implicit_zero_point != 0) return wrong("has no zero point");
  if (plan.granularity != Granularity::blocked || !plan.dimensions.empty()) {
    return wrong("in a plan that is not blocked");
  }
  Parameters allowed{.x_blocks = type};
  if (plan.parameters.tensor_scale == TensorScale::multiply) {
    allowed.tensor_scale = TensorScale::multiply;
  }
  if (plan.parameters != allowed)
    return wrong("has no parameter but a tensor scale that multiplies");
  return {};
}

}  // namespace

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

Status check_parameters(const Plan& plan) {
  const Parameters& p = plan.parameters;
  if (are_defaults(p)) return {};
  if (takes_ranges(plan.rule)) {
    return invalid("parameters: ", name(plan.rule), " has none");
  }
  if (p.tensor_scale > TensorScale::divide) {
    return invalid("parameters.tensor_scale: ", number(p.tensor_scale), " is none");
  }
  if (p.infinite_e8m0 && plan.scale != Element::float8e8m0) {
    return invalid("parameters.infinite_e8m0: a scale of ", name(plan.scale),
                   " has another code for infinity, or none");
  }
  if (p.group_index != GroupIndex{} && plan.granularity != Granularity::strided) {
    return invalid("parameters.group_index: only strided plans have one");
  }
  if (p.x_blocks) return check_blocks(plan);
  DEQUANT_CHECK(check_stored_zero_points(plan));
  DEQUANT_CHECK(check_packings(plan));
  DEQUANT_CHECK(check_codebook(plan));
  return check_results(plan);
}

Status check_block_sizes(const Plan& plan, int64_t count) {
  const BlockType type = *plan.parameters.x_blocks;
  const int64_t elements = block_elements(type);
  if (plan.block != elements) {
    return invalid("plan.block: ", plan.block, " where ", name(type), " has blocks of ", elements);
  }
  if (plan.axis % elements != 0 || plan.inner != 1) {
    return invalid("plan.axis: rows of ", plan.axis, ", ", plan.inner, " of each, are not whole ",
                   name(type), " blocks of ", elements);
  }
  if (plan.parameters.tensor_scale != TensorScale::none && !checked_bytes(32, plan.outer)) {
    return invalid("tensor_scale: ", plan.outer, " numbers do not fit in 64 bits");
  }
  const auto bytes = checked_mul(count / elements, block_bytes(type));
  if (!bytes) return invalid("x: ", count, " elements of ", name(type), " do not fit in 64 bits");
  const auto fits = packed_bytes(plan.output, count);
  return fits ? Status{} : fits.error();
}

}  // namespace dequant
