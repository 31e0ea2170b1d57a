// The plan, which is a complete description of one dequantization as plain data, and run(), which
// executes a plan on the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/element.h"
#include "dequant/executor.h"
#include "dequant/export.h"
#include "dequant/parameters.h"
#include "dequant/status.h"

namespace dequant {

/// The arithmetic of one element. docs/numerics.md has every rounding. All rules but the first have
/// inputs min_range and max_range instead of scale and zero point, and need an x of uint8, int8,
/// uint16, int16 or int32.
enum class Rule : uint8_t {
  /// y = narrow(fl32(fl32(x - zero_point) * fl32(scale))), x - zero_point exact.
  subtract_then_scale,
  /// y = narrow(fl32(fl32(fl32(fl32(x) + half) * s) + min)), s = fl32(fl32(max - min) / span).
  min_combined,
  /// y = narrow(fl32(base + fl32(fl32(x) * s))), base on the grid of s.
  min_first,
  /// y = narrow(fl32(fl32(x) * s)), s from the larger of both ranges; the divisor of min_range is
  /// the lowest code.
  scaled,
  scaled_narrow_range,  ///< the same, but the divisor of min_range is the lowest code + 1
  // The formulas of the r1.4 page in double, rounded once; one pair of ranges, float32 output.
  documented_min_combined,
  documented_min_first,
  documented_scaled,
};

/// True for the rules with min_range and max_range.
constexpr bool takes_ranges(Rule rule) noexcept { return rule != Rule::subtract_then_scale; }

/// The name as in the enumeration.
DEQUANT_EXPORT std::string_view name(Rule rule) noexcept;

/// Which elements share a scale (and a zero point).
enum class Granularity : uint8_t {
  per_tensor,  ///< all elements: one scale
  per_axis,    ///< elements with the same index on the axis: `axis` scales
  /// `block` neighbours on the axis: outer * ceil(axis / block) * inner scales, unless they are
  /// in x: Parameters::x_blocks.
  blocked,
  strided,  ///< by the strides of `dimensions`, which also lay out x and y
};

/// One dimension of a strided plan: how many indices, and how far apart neighbours lie in each
/// tensor, in elements. Inputs may have any stride: 0 repeats, a negative one counts down from the
/// last element of the dimension, which is then stored first.
struct Dimension {
  int64_t size = 1;
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;  ///< above 0, and more than dimensions with smaller strides reach together
  /// Neighbours that share a scale and a zero point; the last block may be short. Index i is `i /
  /// block` strides of scale and zero_point away from index 0.
  int64_t block = 1;
  int64_t group_index = 0;  ///< stride in the group index; not negative, 0 without one

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

/// Dimensions of a strided plan at most: eight, each divided in three by blocks. A dimension with a
/// block above 1 counts twice.
inline constexpr int kMaxDimensions = 24;

/// One dequantization. Unless it is strided, x is seen as a row-major [outer, axis, inner]; a
/// per-tensor plan has outer = axis = 1. Plain data: compare it, print it, copy it.
struct Plan {
  Element input = Element::uint8;
  Element scale = Element::float32;  ///< also of ranges
  Element output = Element::float32;
  bool has_zero_point = false;
  int32_t implicit_zero_point = 0;  ///< of all elements if has_zero_point is false
  Rule rule = Rule::subtract_then_scale;
  Granularity granularity = Granularity::per_tensor;
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t block = 1;  ///< elements of the axis that share a scale; 1 unless blocked
  std::vector<Dimension> dimensions = {};  ///< outermost first; empty unless strided
  Parameters parameters = {};

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The bits of a stored code of x.
inline int code_bits(const Plan& plan) noexcept {
  const Packing& packing = plan.parameters.x_packing;
  return packing.order == CodeOrder::of_element ? bits(plan.input) : packing.bits;
}

/// The element of the stored zero points.
constexpr Element zero_point_element(const Plan& plan) noexcept {
  return plan.parameters.zero_point.value_or(plan.input);
}

// The functions below need a valid plan: one that a dialect made or that run() accepts. Its numbers
// do not overflow.

/// The number of elements that are dequantized. Unless the plan is strided, x and y have so many.
DEQUANT_EXPORT int64_t element_count(const Plan& plan) noexcept;

/// The number of stored scales, and of zero points if there are any. For a strided plan see
/// extents().
DEQUANT_EXPORT int64_t scale_count(const Plan& plan) noexcept;

/// The elements of each buffer, gaps of a strided plan included; 0 for tensors that the plan does
/// not have. Of tensors with a Packing: the codes, not what fills up words and rows. Of blocks: the
/// bytes.
struct Extents {
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t min_range = 0;
  int64_t max_range = 0;
  int64_t y = 0;
  int64_t tensor_scale = 0;
  int64_t group_index = 0;
  int64_t codebook = 0;

  friend bool operator==(const Extents&, const Extents&) = default;
};

/// The elements that the buffers of run() need.
DEQUANT_EXPORT Extents extents(const Plan& plan) noexcept;

/// One line for people: "int4[2, 64, 8] blocked by 32 on the axis, float16 scale -> bfloat16".
DEQUANT_EXPORT std::string to_string(const Plan& plan);

/// A half-open range of element or scale indices.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// The slice of each tensor that some elements need, in elements of that tensor. Slices are as
/// small as possible, with these exceptions. Slices of x, scales and zero points begin at a
/// multiple of 8, and so on a byte for every width of codes. With ZeroPointOverflow::carry, slices
/// of zero points are whole words. With a Packing, slices of x begin with a word, or are all of x
/// where the words of a row run down a column; slices of zero points are all of them. Of blocks,
/// slices of x are the bytes of whole blocks. Empty for tensors that the plan does not have.
struct Slices {
  Range x = {};
  Range scale = {};
  Range zero_point = {};
  Range min_range = {};
  Range max_range = {};
  Range y = {};
  Range tensor_scale = {};
  Range group_index = {};
  Range codebook = {};

  friend bool operator==(const Slices&, const Slices&) = default;
};

/// The slices that run_range() needs for a range of elements, which must be within the tensor.
/// Elements are counted row-major; in a strided plan over its dimensions, which in plans of
/// dialects is the order of y in memory. So rows [a, b) of a y of [rows, columns] are elements [a *
/// columns, b * columns), whatever dimensions the plan has. Where neighbours in y are far apart in
/// x, as in a transpose, the slice of x is long, up to all of x.
DEQUANT_EXPORT Slices slices_of(const Plan& plan, Range elements) noexcept;

/// The bytes of a slice in the memory of its tensor. `elements.begin` must be a multiple of 8, as
/// in Slices, or begin on a byte.
DEQUANT_EXPORT Range bytes_of(Element element, Range elements) noexcept;

/// The bytes of a slice of x, or of zero points, in the memory of its tensor, whatever its Packing.
/// The slice is one of slices_of(), or begins at 0.
DEQUANT_EXPORT Range x_bytes_of(const Plan& plan, Range elements) noexcept;
DEQUANT_EXPORT Range zero_point_bytes_of(const Plan& plan, Range elements) noexcept;

/// The scales, or min_range and max_range, that a range of elements needs; see slices_of(). Unless
/// the plan is strided, the end is also a multiple of 8, or the number of all scales.
DEQUANT_EXPORT Range scales_of(const Plan& plan, Range elements) noexcept;

/// What messages call the inputs of Buffers, where a producer has names of its own.
struct BufferNames {
  std::string_view x = "x";
  std::string_view scale = "scale";
  std::string_view zero_point = "zero_point";
  std::string_view min_range = "min_range";
  std::string_view max_range = "max_range";
  std::string_view tensor_scale = "tensor_scale";
  std::string_view group_index = "group_index";
  std::string_view codebook = "codebook";
};

/// The caller's memory: packed, little-endian, at any alignment. Spans may be longer than needed.
struct Buffers {
  std::span<const std::byte> x;
  std::span<const std::byte> scale;       ///< empty for rules with ranges
  std::span<const std::byte> zero_point;  ///< empty unless the plan has one
  std::span<std::byte> y;
  std::span<const std::byte> min_range = {};  ///< these two only for rules with ranges
  std::span<const std::byte> max_range = {};
  std::span<const std::byte> tensor_scale = {};  ///< float32, if the plan's parameters use it
  std::span<const std::byte> group_index = {};   ///< int32, if the plan's parameters have one
  /// 2^bits float32 of the codes of x, if the plan's parameters use them.
  std::span<const std::byte> codebook = {};
  const BufferNames* names = nullptr;  ///< in messages; null: those of this struct
};

/// The check of zero points that run() makes, for callers that need it earlier. Fails with
/// invalid_argument where a zero point of a float8 or float4 x is neither +0 nor -0, or that of a
/// float6 x is not +0. Checks all elements of the span, at most scale_count(plan).
DEQUANT_EXPORT Status check_zero_points(const Plan& plan, std::span<const std::byte> zero_point);

/// The checks of run_range() that read no tensor: of the plan, of the range, and of the sizes of
/// the buffers and whether y overlaps an input. For back ends whose buffers are memory of a device.
DEQUANT_EXPORT Status check_sizes(const Plan& plan, Range elements, const Buffers& buffers);

/// How output is stored. It never changes the bits.
enum class Stores : uint8_t {
  automatic,  ///< streaming if y is above 16 MiB, or above a smaller last-level cache
  cached,
  streaming,
};

/// Options of run(). They never change the bits.
struct RunOptions {
  Executor executor = default_executor();
  Stores stores = Stores::automatic;
};

/// Dequantizes the whole tensor. Checks everything before the first write: fails with
/// invalid_argument when a span is too short, when y overlaps an input, when a zero point of a
/// float8 or float4 x is not zero, or when an entry of the group index is no group; y is then
/// unchanged. Never allocates. Does not write to gaps in a strided y.
DEQUANT_EXPORT Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options = {});

/// Dequantizes a range of the elements of any plan, with the bits of run(). The buffers have just
/// slices_of(plan, elements). For tensors that do not fit in memory, range by range in the order of
/// y. Fails as run() does, and with invalid_argument when the range is not within the tensor. Where
/// neighbours of a row of y are far apart in x (GPTQ, AWQ, gpt-oss) or in a group index, ranges of
/// 128 whole rows are fast, and parts of rows several times as slow.
DEQUANT_EXPORT Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                                const RunOptions& options = {});

}  // namespace dequant
