// Properties of plans: the sizes of the tensors, and the slices that a range of elements needs.
#include "dequant/plan.h"

#include <algorithm>

#include "checked.h"
#include "dequant/block.h"
#include "plan/packing.h"
#include "plan/regions.h"
#include "plan/scale_spans.h"
#include "plan/strided.h"

namespace dequant {

namespace {

/// Elements from the first element of the first group to the first element of the last group.
int64_t groups_extent(const GroupIndex& index, int64_t stride) noexcept {
  return index.groups == 0 ? 0 : (index.groups - 1) * stride;
}

/// Zero points that must be read together: a 32-bit word of them if the offset is added to whole
/// words, so that a zero point can carry into the next one; otherwise 1.
int64_t word_of(const Plan& plan) noexcept {
  const bool carry = plan.parameters.zero_point_overflow == ZeroPointOverflow::carry;
  return carry ? 32 / bits(zero_point_element(plan)) : 1;
}

/// A number of zero points, rounded up to whole words; INT64_MAX where the words have more, as many
/// as no buffer has.
int64_t whole_words(const Plan& plan, int64_t zero_points) noexcept {
  return checked_mul(ceil_div(zero_points, word_of(plan)), word_of(plan)).value_or(INT64_MAX);
}

}  // namespace

int64_t element_count(const Plan& plan) noexcept {
  if (plan.granularity != Granularity::strided) return plan.outer * plan.axis * plan.inner;
  int64_t count = 1;
  for (const Dimension& d : plan.dimensions) {
    if (d.size == 0) return 0;
  }
  for (const Dimension& d : plan.dimensions) count *= d.size;
  return count;
}

int64_t scale_count(const Plan& plan) noexcept {
  if (plan.parameters.x_blocks) return 0;
  switch (plan.granularity) {
    case Granularity::per_tensor: return 1;
    case Granularity::per_axis: return plan.axis;
    case Granularity::blocked: return plan.outer * ceil_div(plan.axis, plan.block) * plan.inner;
    case Granularity::strided: {
      const Extents e = extents(plan);
      return takes_ranges(plan.rule) ? e.min_range : e.scale;
    }
  }
  return 0;
}

Extents extents(const Plan& plan) noexcept {
  Extents out;
  const int64_t count = element_count(plan);
  int64_t params = 0;
  if (const auto type = plan.parameters.x_blocks) {
    out.x = count / block_elements(*type) * block_bytes(*type);
    out.y = count;
  } else if (plan.granularity != Granularity::strided) {
    out.x = out.y = count;
    params = out.zero_point = scale_count(plan);
  } else if (count > 0) {
    const auto extent = [&](int64_t Dimension::*stride, int64_t more = 0) {
      const Reach r = reach(plan.dimensions, stride);
      return r.highest - r.lowest + 1 + more;
    };
    const GroupIndex& index = plan.parameters.group_index;
    out.x = extent(&Dimension::x);
    params = extent(&Dimension::scale, groups_extent(index, index.scale));
    out.zero_point = extent(&Dimension::zero_point, groups_extent(index, index.zero_point));
    out.y = extent(&Dimension::y);
    if (index.groups != 0) out.group_index = extent(&Dimension::group_index);
  }
  out.zero_point = plan.has_zero_point ? whole_words(plan, out.zero_point) : 0;
  if (plan.parameters.tensor_scale != TensorScale::none) {
    out.tensor_scale = plan.parameters.x_blocks ? plan.outer : 1;
  }
  out.codebook = plan.parameters.codebook ? int64_t{1} << code_bits(plan) : 0;
  (takes_ranges(plan.rule) ? out.min_range : out.scale) = params;
  if (takes_ranges(plan.rule)) out.max_range = params;
  return out;
}

namespace {

/// Slices start at multiples of this index, where packed codes of every width start on a byte.
constexpr int64_t kAligned = 8;

/// The scales that a range of elements needs, for a plan that is not strided. The first index, and
/// the end unless it is the end of all scales, are multiples of `aligned`, itself a multiple of
/// kAligned.
Range packed_scales(const Plan& plan, Range elements, int64_t aligned) noexcept {
  const int64_t count = scale_count(plan);
  int64_t first = count;
  int64_t last = 0;
  const Layout layout = layout_of(plan);
  // The scales of the first and the last row are the bounds for all rows between, unless each row
  // starts at scale 0.
  const int64_t first_row = elements.begin / layout.row;
  const int64_t last_row = (elements.end - 1) / layout.row;
  if (first_row != last_row && layout.rows_share_scales) {
    first = 0;
    last = count;
  } else {
    first = layout.scale_at(elements.begin);
    last = layout.scale_at(elements.end - 1) + 1;
    // With a scale for each element of a row, all rows of a block have the same scales. A range
    // over two rows or more needs the scales of whole rows.
    if (first_row != last_row && layout.group == 0) {
      first = layout.scale_at(first_row * layout.row);
      last = layout.scale_at(last_row * layout.row + layout.row - 1) + 1;
    }
  }
  return {first / aligned * aligned, std::min(count, ceil_div(last, aligned) * aligned)};
}

/// The range of one tensor that a range of elements uses. `origin` is the position of the element
/// whose indices are all 0.
Range range_used(const Plan& plan, Range elements, int64_t Dimension::*stride, int64_t origin) {
  Range out{INT64_MAX, 0};
  Spans(plan, elements).for_each([&](const Span& span) {
    Range used{origin, origin};
    for (size_t d = 0; d < plan.dimensions.size(); ++d) {
      const int64_t step = plan.dimensions[d].*stride;
      const int64_t first = step * steps(plan.dimensions[d], stride, 0, span[d].first + 1);
      const int64_t extent = step * steps(plan.dimensions[d], stride, span[d].first, span[d].count);
      used.begin += first + std::min<int64_t>(extent, 0);
      used.end += first + std::max<int64_t>(extent, 0);
    }
    out = {std::min(out.begin, used.begin), std::max(out.end, used.end + 1)};
  });
  return out;
}

/// The slice of x for codes at these indices.
Range x_slice(const Plan& plan, Range codes) noexcept {
  const Packing& packing = plan.parameters.x_packing;
  if (!is_packing(packing)) return {codes.begin / kAligned * kAligned, codes.end};
  if (runs_down_columns(packing)) return {0, extents(plan).x};
  return {slice_begin(packing, codes.begin), codes.end};
}

Slices strided_slices(const Plan& plan, Range elements) noexcept {
  const Offsets origin = origin_of(plan);
  const auto slice = [&](int64_t Dimension::*stride, int64_t from, int64_t more = 0) {
    const Range all = range_used(plan, elements, stride, from);
    return Range{all.begin / kAligned * kAligned, all.end + more};
  };
  const GroupIndex& index = plan.parameters.group_index;
  Slices out;
  out.x = x_slice(plan, range_used(plan, elements, &Dimension::x, origin.x));
  out.scale = slice(&Dimension::scale, origin.scale, groups_extent(index, index.scale));
  if (plan.has_zero_point) {
    const Range zeros =
        slice(&Dimension::zero_point, origin.zero_point, groups_extent(index, index.zero_point));
    out.zero_point = {zeros.begin / word_of(plan) * word_of(plan), whole_words(plan, zeros.end)};
  }
  if (index.groups != 0) out.group_index = slice(&Dimension::group_index, origin.group_index);
  out.y = range_used(plan, elements, &Dimension::y, origin.y);
  return out;
}

/// The bytes of the blocks that hold some elements.
Slices block_slices(BlockType type, Range elements) noexcept {
  const int64_t size = block_elements(type);
  const int64_t bytes = block_bytes(type);
  Slices out;
  out.x = {elements.begin / size * bytes, ceil_div(elements.end, size) * bytes};
  out.y = elements;
  return out;
}

Slices packed_slices(const Plan& plan, Range elements) noexcept {
  Slices out;
  out.y = elements;
  out.x = x_slice(plan, elements);
  // The slices of scales and zero points are equal. Elements before the range that share its first
  // byte are dequantized with it.
  const Range computed{elements.begin / kAligned * kAligned, elements.end};
  const Range params = packed_scales(plan, computed, std::max(kAligned, word_of(plan)));
  if (takes_ranges(plan.rule)) {
    out.min_range = out.max_range = params;
  } else {
    out.scale = params;
  }
  if (plan.has_zero_point) out.zero_point = {params.begin, whole_words(plan, params.end)};
  return out;
}

}  // namespace

Slices slices_of(const Plan& plan, Range elements) noexcept {
  if (elements.begin >= elements.end) return {};
  const auto slices = [&] {
    if (const auto type = plan.parameters.x_blocks) return block_slices(*type, elements);
    const bool strided = plan.granularity == Granularity::strided;
    return strided ? strided_slices(plan, elements) : packed_slices(plan, elements);
  };
  Slices out = slices();
  if (plan.parameters.tensor_scale != TensorScale::none) {
    out.tensor_scale = {0, 1};
    if (plan.parameters.x_blocks) {
      out.tensor_scale = {elements.begin / plan.axis, ceil_div(elements.end, plan.axis)};
    }
  }
  if (plan.parameters.codebook) out.codebook = {0, int64_t{1} << code_bits(plan)};
  if (plan.has_zero_point && is_packing(plan.parameters.zero_point_packing)) {
    out.zero_point = {0, extents(plan).zero_point};
  }
  return out;
}

Range bytes_of(Element element, Range elements) noexcept {
  const int width = bits(element);
  return {packed_size(width, elements.begin), packed_size(width, elements.end)};
}

Range x_bytes_of(const Plan& plan, Range elements) noexcept {
  const Packing& packing = plan.parameters.x_packing;
  return is_packing(packing) ? bytes_of(packing, elements) : bytes_of(plan.input, elements);
}

Range zero_point_bytes_of(const Plan& plan, Range elements) noexcept {
  const Packing& packing = plan.parameters.zero_point_packing;
  if (is_packing(packing)) return bytes_of(packing, elements);
  return bytes_of(zero_point_element(plan), elements);
}

Range scales_of(const Plan& plan, Range elements) noexcept {
  const Slices slices = slices_of(plan, elements);
  return takes_ranges(plan.rule) ? slices.min_range : slices.scale;
}

}  // namespace dequant
