// Checks a call, and computes what kernels need beyond its plan.
#include "cuda/plan/lower.h"

#include <algorithm>

#include "block/traits.h"
#include "cuda/plan/aligned.h"
#include "cuda/plan/fast.h"
#include "cuda/plan/thread_tiles.h"
#include "cuda/plan/vector_size.h"
#include "element/traits.h"
#include "plan/packing.h"
#include "text.h"

namespace dequant::cuda {
namespace {

const uint8_t* bytes(std::span<const std::byte> buffer) {
  return reinterpret_cast<const uint8_t*>(buffer.data());
}

/// The address that byte 0 of a tensor would have, of which a buffer begins with byte `first`.
const uint8_t* from_byte_0(std::span<const std::byte> buffer, int64_t first) {
  return reinterpret_cast<const uint8_t*>(reinterpret_cast<uintptr_t>(buffer.data()) -
                                          static_cast<uintptr_t>(first));
}

Codes codes_of(Element element, std::span<const std::byte> buffer) {
  Codes out{.data = bytes(buffer), .format = traits(element).format, .bits = bits(element)};
  if (kind(element) == Kind::signed_integer) out.sign = uint32_t{1} << (out.bits - 1);
  return out;
}

/// The same of a Packing, of which a buffer begins with byte `first`.
Codes packed_codes(Element element, const Packing& packing, std::span<const std::byte> buffer,
                   int64_t first) {
  if (!is_packing(packing)) return codes_of(element, buffer);
  Codes out = codes_of(element, buffer);
  out.data = from_byte_0(buffer, first);
  out.order = packing.order;
  out.bits = packing.bits;
  if (out.sign != 0) out.sign = uint32_t{1} << (out.bits - 1);
  if (is_slabs(packing)) {
    out.columns = packing.columns;
    out.by_columns = Divisor(packing.columns);
    out.word_bytes = static_cast<int32_t>(slab_word_bytes(packing));
    out.in_word = out.word_bytes * 8 / packing.bits;
  } else if (packing.order != CodeOrder::high_first) {
    out.row = packing.row;
    out.by_row = Divisor(packing.row);
    out.row_step = packing.columns == 0 ? words_of_row(packing) : 1;
    out.word_step = packing.columns == 0 ? 1 : packing.columns;
    out.in_word = 32 / packing.bits;
    out.by_word = Divisor(out.in_word);
  }
  return out;
}

/// The dimensions of a plan that is not strided: outer, axis, inner.
std::vector<Dimension> packed_dimensions(const Plan& plan) {
  if (plan.granularity == Granularity::per_tensor) {
    const int64_t count = element_count(plan);
    return {{.size = count, .x = 1, .y = 1}};
  }
  const int64_t of_outer = plan.axis * plan.inner;
  const int64_t block = plan.granularity == Granularity::blocked ? plan.block : 1;
  Dimension outer{.size = plan.outer, .x = of_outer, .y = of_outer};
  Dimension axis{.size = plan.axis, .x = plan.inner, .y = plan.inner, .block = block};
  Dimension inner{.size = plan.inner, .x = 1, .y = 1};
  if (plan.granularity == Granularity::blocked) {
    axis.scale = axis.zero_point = plan.inner;
    inner.scale = inner.zero_point = 1;
    // Blocks of an axis: without overflow for every block size.
    outer.scale = outer.zero_point =
        (plan.axis / block + (plan.axis % block != 0 ? 1 : 0)) * plan.inner;
  } else {
    axis.scale = axis.zero_point = 1;
  }
  return {outer, axis, inner};
}

/// Where the element whose indices are all 0 lies: negative strides count down to it.
int64_t first_of(const std::vector<Dimension>& dimensions, int64_t Dimension::*stride) {
  const bool of_params = stride == &Dimension::scale || stride == &Dimension::zero_point;
  int64_t at = 0;
  for (const Dimension& d : dimensions) {
    if (d.*stride < 0) at -= (d.size - 1) / (of_params ? d.block : 1) * (d.*stride);
  }
  return at;
}

/// True if two dimensions, one inside of the other, are one of rows whose blocks, if any, are the
/// inner dimension: so dialects divide rows with the scales of a row of blocks.
bool are_rows(const Dimension& outer, const Dimension& inner) {
  const auto goes_on = [&](int64_t Dimension::*stride) {
    return outer.*stride % inner.size == 0 && outer.*stride / inner.size == inner.*stride;
  };
  return outer.block == 1 && inner.scale == 0 && inner.zero_point == 0 && goes_on(&Dimension::x) &&
         goes_on(&Dimension::y) && goes_on(&Dimension::group_index);
}

Dimension rows_of(const Dimension& outer, Dimension inner) {
  if (outer.scale != 0 || outer.zero_point != 0) inner.block = inner.size;
  inner.scale = outer.scale;
  inner.zero_point = outer.zero_point;
  inner.size *= outer.size;
  return inner;
}

/// Makes one dimension of the outermost ones until `elements` begin and end with an index of it, as
/// far as it can be made. No size is 1.
void merge_rows(std::vector<Dimension>& dimensions, Range elements) {
  const auto ends_with_rows = [&] {
    int64_t row = 1;
    for (size_t d = 1; d < dimensions.size(); ++d) row *= dimensions[d].size;
    return elements.begin % row == 0 && elements.end % row == 0;
  };
  while (dimensions.size() > 1 && !ends_with_rows() && are_rows(dimensions[0], dimensions[1])) {
    dimensions[1] = rows_of(dimensions[0], dimensions[1]);
    dimensions.erase(dimensions.begin());
  }
}

void set_dimensions(const Plan& plan, const Slices& slices, DevicePlan& out) {
  const bool strided = plan.granularity == Granularity::strided;
  std::vector<Dimension> dimensions = strided ? plan.dimensions : packed_dimensions(plan);
  out.origin = {first_of(dimensions, &Dimension::x), first_of(dimensions, &Dimension::scale),
                first_of(dimensions, &Dimension::zero_point), 0, 0};
  // Codes of a Packing are numbered from the start of the tensor.
  if (!is_packing(plan.parameters.x_packing)) out.origin.x -= slices.x.begin;
  out.origin.scale -= takes_ranges(plan.rule) ? slices.min_range.begin : slices.scale.begin;
  out.origin.zero_point -= slices.zero_point.begin;
  out.origin.y -= slices.y.begin;
  out.origin.group_index -= slices.group_index.begin;
  std::erase_if(dimensions, [](const Dimension& d) { return d.size == 1; });
  if (dimensions.empty()) dimensions.push_back({.size = 1, .x = 1, .y = 1});
  merge_rows(dimensions, out.elements);
  for (const Dimension& d : dimensions) {
    out.dimensions[out.rank++] = {d.size,  Divisor(d.size), d.block, Divisor(d.block), d.x,
                                  d.scale, d.zero_point,    d.y,     d.group_index};
  }
}

/// True if neighbours in y are far apart in x, and rows next to each other are near.
bool wants_tiles(const Plan& plan, const DevicePlan& out) {
  if (out.rank < 2) return false;
  const int64_t x = out.dimensions[out.rank - 1].x;
  return runs_down_columns(plan.parameters.x_packing) || x > 1 || x < -1;
}

void set_threads(const Plan& plan, DevicePlan& out) {
  out.tiles = !plan.parameters.x_blocks && wants_tiles(plan, out);
  if (out.tiles) {
    const int64_t in_tile = int64_t{vector_elements(plan.output)} * kTileVectors;
    const int64_t inner = out.dimensions[out.rank - 1].size;
    out.tiles_of_row = inner / in_tile + (inner % in_tile != 0 ? 1 : 0);
    out.by_tiles_of_row = Divisor(out.tiles_of_row);
  }
  out = with_elements(out, out.elements);
}

Difference difference_of(const Plan& plan, bool float_zero) {
  if (is_documented(plan.rule)) return Difference::formula;
  if (takes_ranges(plan.rule)) return Difference::shifted;
  if (plan.parameters.codebook) return Difference::codebook;
  if (kind(plan.input) == Kind::floating) return Difference::floating;
  if (float_zero && plan.parameters.zero_point_role == ZeroPointRole::subtract_before) {
    return Difference::float_zero;
  }
  return bits(plan.input) == 32 ? Difference::wide_integer : Difference::integer;
}

/// It names every field of Parameters, so a new one does not compile before it goes to the kernels
/// here, or in a function of this file as the layouts of codes do.
void set_arithmetic(const Plan& plan, DevicePlan& out) {
  const auto& [tensor_scale, infinite_e8m0, reciprocal_scale, zero_point, offset, overflow,
               group_index, role, scale_rounding, result_rounding, result_factor, codebook,
               x_packing, zero_packing, x_blocks] = plan.parameters;
  out.rule = plan.rule;
  out.output = plan.output;
  if (takes_ranges(plan.rule)) {
    out.limits = code_limits(plan.input);
    out.shift = shift_of(plan.rule, out.limits);
  }
  out.tensor_scale_use = tensor_scale;
  out.infinite_e8m0 = infinite_e8m0;
  out.inverts_scale = reciprocal_scale;
  out.rounds_scale = scale_rounding.has_value();
  out.scale_rounding = traits(scale_rounding.value_or(Element::float32)).format;
  const bool float_zero = plan.has_zero_point && kind(plan.input) != Kind::floating &&
                          kind(zero_point_element(plan)) == Kind::floating;
  out.difference = difference_of(plan, float_zero);
  out.loads_zero_point = plan.has_zero_point;
  out.checks_zero_point = plan.has_zero_point && kind(plan.input) == Kind::floating;
  out.implicit_zero_point = plan.implicit_zero_point;
  out.zero_point_offset = offset;
  out.zero_point_overflow = overflow;
  out.adds_zero_point = float_zero && role == ZeroPointRole::add_after;
  out.subtracts_zero_point = float_zero && role == ZeroPointRole::subtract_after;
  out.has_after = out.adds_zero_point || out.subtracts_zero_point || result_factor != 1 ||
                  result_rounding.has_value();
  out.result_factor = result_factor;
  out.result_rounding = traits(result_rounding.value_or(Element::float32)).format;
  out.groups = group_index;
}

void set_tensors(const Plan& plan, const Slices& slices, const Buffers& buffers, DevicePlan& out) {
  const Parameters& p = plan.parameters;
  out.x = packed_codes(plan.input, p.x_packing, buffers.x, x_bytes_of(plan, slices.x).begin);
  const bool ranges = takes_ranges(plan.rule);
  out.scale = codes_of(plan.scale, ranges ? buffers.min_range : buffers.scale);
  out.max_range = codes_of(plan.scale, buffers.max_range);
  if (plan.has_zero_point) {
    out.zero_point =
        packed_codes(zero_point_element(plan), p.zero_point_packing, buffers.zero_point, 0);
  }
  out.tensor_scale = bytes(buffers.tensor_scale);
  out.group_index = bytes(buffers.group_index);
  out.codebook = bytes(buffers.codebook);
  out.y = reinterpret_cast<uint8_t*>(buffers.y.data());
}

/// Of a plan of blocks.
void set_blocks(const Plan& plan, const Slices& slices, const Buffers& buffers, DevicePlan& out) {
  out.has_blocks = true;
  out.block_type = *plan.parameters.x_blocks;
  out.x.data = from_byte_0(buffers.x, slices.x.begin);
  out.row_elements = plan.axis;
  out.by_block_row = Divisor(plan.axis);
  out.tensor_scale = from_byte_0(buffers.tensor_scale, slices.tensor_scale.begin * 4);
  const int64_t y_bytes = bits(plan.output) / 8;
  out.y = reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(out.y) -
                                     static_cast<uintptr_t>(slices.y.begin * y_bytes));
}

Status check_options(const Plan& plan, const RunOptions& options) {
  if (options.faults != nullptr) {
    if (is_aligned(options.faults, alignof(uint32_t))) return {};
    return invalid("faults: not aligned to 4 bytes");
  }
  if (!needs_faults(plan)) return {};
  return invalid("faults: null, but the values of the plan's ",
                 plan.parameters.group_index.groups != 0 ? "group_index" : "zero_point",
                 " are seen on the device only; give it memory for a uint32");
}

}  // namespace

bool needs_faults(const Plan& plan) noexcept {
  return plan.parameters.group_index.groups != 0 ||
         (plan.has_zero_point && kind(plan.input) == Kind::floating);
}

int64_t row_elements(const Plan& plan) noexcept {
  const int64_t count = element_count(plan);
  if (plan.parameters.x_blocks || count == 0) return 1;
  switch (plan.granularity) {
    case Granularity::per_tensor: return 1;
    case Granularity::strided: break;
    default: return plan.outer != 1 ? plan.axis * plan.inner : plan.inner;
  }
  Dimension rows;
  for (const Dimension& d : plan.dimensions) {
    if (d.size == 1) continue;
    if (rows.size != 1 && !are_rows(rows, d)) break;
    rows = rows.size == 1 ? d : rows_of(rows, d);
  }
  return count / rows.size;
}

Result<DevicePlan> lower(const Plan& plan, Range elements, const Buffers& buffers,
                         const RunOptions& options) {
  DEQUANT_CHECK(check_sizes(plan, elements, buffers));
  DEQUANT_CHECK(check_options(plan, options));
  DevicePlan out;
  out.elements = elements;
  out.faults = options.faults;
  if (elements.begin == elements.end) return out;
  const bool is_whole = elements == Range{0, element_count(plan)};
  const Slices slices = is_whole ? Slices{} : slices_of(plan, elements);
  set_arithmetic(plan, out);
  set_tensors(plan, slices, buffers, out);
  if (plan.parameters.x_blocks) {
    set_blocks(plan, slices, buffers, out);
  } else {
    set_dimensions(plan, slices, out);
  }
  set_threads(plan, out);
  return out;
}

}  // namespace dequant::cuda
