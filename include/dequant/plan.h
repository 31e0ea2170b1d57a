// The plan: all that a dialect says about one dequantization, as plain data. And run(), which
// carries a plan out on the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/element.h"
#include "dequant/executor.h"
#include "dequant/export.h"
#include "dequant/status.h"

namespace dequant {

/// The arithmetic of one element. See docs/numerics.md for every rounding. All but the first take a
/// min_range and a max_range in place of a scale and a zero point; they need an x of uint8, int8,
/// uint16, int16 or int32.
enum class Rule : uint8_t {
  /// y = narrow(fl32(fl32(x - zero_point) * fl32(scale))), x - zero_point exact.
  subtract_then_scale,
  /// y = narrow(fl32(fl32(fl32(fl32(x) + half) * s) + min)), s = fl32(fl32(max - min) / span).
  min_combined,
  /// y = narrow(fl32(base + fl32(fl32(x) * s))), base on the grid of s.
  min_first,
  /// y = narrow(fl32(fl32(x) * s)), s from the larger of both ranges; of min_range the lowest code
  /// is the divisor.
  scaled,
  scaled_narrow_range,  ///< the same, but the divisor of min_range is the lowest code + 1
  // The formulas of the r1.4 page in double, rounded once; one pair of ranges, float32 output.
  documented_min_combined,
  documented_min_first,
  documented_scaled,
};

/// True for the rules that take ranges.
constexpr bool takes_ranges(Rule rule) noexcept { return rule != Rule::subtract_then_scale; }

/// The name as in the enumeration.
DEQUANT_EXPORT std::string_view name(Rule rule) noexcept;

/// Which elements share a scale (and a zero point).
enum class Granularity : uint8_t {
  per_tensor,  ///< all: one scale
  per_axis,    ///< those with the same index on the axis: `axis` scales
  blocked,     ///< `block` neighbours on the axis: outer * ceil(axis / block) * inner scales
  strided,     ///< by the strides of `dimensions`, which also lay out x and y
};

/// One dimension of a strided plan: how many indices, and how far apart neighbours lie in each
/// tensor, in elements. Inputs may have any stride: 0 repeats, a negative one counts down from the
/// last element of the dimension, which is then stored first.
struct Dimension {
  int64_t size = 1;
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;  ///< above 0, and more than all that dimensions of smaller strides reach
  /// Neighbours that share a scale and a zero point; the last block may be short. Index i is `i /
  /// block` strides of scale and zero_point away from index 0.
  int64_t block = 1;
  int64_t group_index = 0;  ///< stride in the group index; not negative, 0 without one

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

/// Dimensions of a strided plan: eight, each cut in three by blocks. One with a block above 1
/// counts twice.
inline constexpr int kMaxDimensions = 24;

/// What a second scale, one float32 for the whole tensor, does to every other before that is used:
/// its result is rounded to float32.
enum class TensorScale : uint8_t {
  none,
  multiply,  ///< scale * tensor_scale, as ModelOpt's NVFP4 has it
  divide,    ///< scale / tensor_scale, as the NVFP4 of compressed-tensors has it
};

/// What becomes of the offset of a stored zero point where the sum leaves the bits of its element.
enum class ZeroPointOverflow : uint8_t {
  keep,  ///< the sum stays what it is: of uint4, 15 + 1 is 16
  wrap,  ///< each zero point stays within its bits: 15 + 1 is 0
  /// All the zero points of a 32-bit word get it by one addition to the word, so that what leaves
  /// the bits of one goes to the next: 15 + 1 is 0, and the next one is 1 more. uint2, uint4 and
  /// uint8 only.
  carry,
};

/// Of a strided plan: which group each element belongs to is read from an int32 tensor, of which
/// every entry must be below `groups` and not negative.
struct GroupIndex {
  int64_t groups = 0;      ///< 0: there is none
  int64_t scale = 0;       ///< stride from the scale of a group to that of the next; not negative
  int64_t zero_point = 0;  ///< the same of zero points

  friend bool operator==(const GroupIndex&, const GroupIndex&) = default;
};

/// How what is stored beside x becomes one float32 scale and one zero point for each element, as
/// far as it takes more than decoding them: docs/numerics.md has the arithmetic. Only for
/// Rule::subtract_then_scale.
struct Parameters {
  TensorScale tensor_scale = TensorScale::none;
  /// Of scales of float8e8m0: code 255 is infinity, as compressed-tensors reads it, not NaN.
  bool infinite_e8m0 = false;
  /// The element of the stored zero points where it is not that of x: an integer of at most 8 bits
  /// for an integer x of at most 16; float32, float16 or bfloat16 for an integer x of at most 8.
  std::optional<Element> zero_point = {};
  /// Added to every stored zero point, which is an integer of at most 8 bits; -256 to 256.
  int32_t zero_point_offset = 0;
  ZeroPointOverflow zero_point_overflow = ZeroPointOverflow::keep;
  GroupIndex group_index = {};

  friend bool operator==(const Parameters&, const Parameters&) = default;
};

/// One dequantization. Unless it is strided, x is seen as a row-major [outer, axis, inner]; a
/// per-tensor plan has outer = axis = 1. Plain data: compare it, print it, copy it.
struct Plan {
  Element input = Element::uint8;
  Element scale = Element::float32;  ///< also of ranges
  Element output = Element::float32;
  bool has_zero_point = false;
  int32_t implicit_zero_point = 0;  ///< of all elements where no zero points are given
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

/// The element of the zero points that are stored.
constexpr Element zero_point_element(const Plan& plan) noexcept {
  return plan.parameters.zero_point.value_or(plan.input);
}

// These are of sound plans, which dialects make and run() takes: their numbers do not overflow.

/// Elements that are dequantized: those of x and of y, unless the plan is strided.
DEQUANT_EXPORT int64_t element_count(const Plan& plan) noexcept;

/// Scales that are stored, and zero points where there are any; of a strided plan see extents().
DEQUANT_EXPORT int64_t scale_count(const Plan& plan) noexcept;

/// Elements that each buffer holds, gaps of a strided plan included; 0 for what the plan has not.
struct Extents {
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t min_range = 0;
  int64_t max_range = 0;
  int64_t y = 0;
  int64_t tensor_scale = 0;
  int64_t group_index = 0;

  friend bool operator==(const Extents&, const Extents&) = default;
};

DEQUANT_EXPORT Extents extents(const Plan& plan) noexcept;

/// One line for people: "int4[2, 64, 8] blocked by 32 on the axis, float16 scale -> bfloat16".
DEQUANT_EXPORT std::string to_string(const Plan& plan);

/// A half-open range of element or scale indices.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// What of each tensor some elements need, in elements of that tensor: the smallest slices that
/// hold all of it, but that those of x, scales and zero points begin at a multiple of 8, and so on
/// a byte whatever the width of a code, and with ZeroPointOverflow::carry those of zero points are
/// whole words. Empty for what the plan has not.
struct Slices {
  Range x = {};
  Range scale = {};
  Range zero_point = {};
  Range min_range = {};
  Range max_range = {};
  Range y = {};
  Range tensor_scale = {};
  Range group_index = {};

  friend bool operator==(const Slices&, const Slices&) = default;
};

/// The slices that run_range() takes for a range of elements, which must lie within the tensor.
/// They are counted row-major, of a strided plan over its dimensions: in the order in which y
/// stores them, if the plan is a dialect's. Rows [a, b) of a y of [rows, columns] are elements [a *
/// columns, b * columns), whatever dimensions the plan has. Where neighbours in y lie far apart in
/// x, as in a transpose, the slice of x is long, up to all of x.
DEQUANT_EXPORT Slices slices_of(const Plan& plan, Range elements) noexcept;

/// The bytes of a slice in the memory of its tensor. `elements.begin` is a multiple of 8, as in
/// Slices, or lies on a byte.
DEQUANT_EXPORT Range bytes_of(Element element, Range elements) noexcept;

/// The scales, or ranges, that the elements of a range need: as slices_of(). Unless the plan is
/// strided, the end is a multiple of 8, too, or the last scale.
DEQUANT_EXPORT Range scales_of(const Plan& plan, Range elements) noexcept;

/// The caller's memory: packed, little-endian, at any alignment. Spans may be longer than needed.
struct Buffers {
  std::span<const std::byte> x;
  std::span<const std::byte> scale;       ///< empty for rules that take ranges
  std::span<const std::byte> zero_point;  ///< empty unless the plan has one
  std::span<std::byte> y;
  std::span<const std::byte> min_range = {};  ///< these two only for rules that take ranges
  std::span<const std::byte> max_range = {};
  std::span<const std::byte> tensor_scale = {};  ///< one float32, if the plan's parameters use it
  std::span<const std::byte> group_index = {};   ///< int32, if the plan's parameters have one
};

/// The check of zero points that run() makes, for those who want to know earlier: a float8 or
/// float4 x has none but +0 and -0, a float6 x none but +0. Looks at all that the span holds, at
/// most scale_count(plan).
DEQUANT_EXPORT Status check_zero_points(const Plan& plan, std::span<const std::byte> zero_point);

/// How output is stored. It never changes the bits.
enum class Stores : uint8_t {
  automatic,  ///< streaming above 16 MiB, or a smaller last-level cache
  cached,
  streaming,
};

struct RunOptions {
  Executor executor = default_executor();
  Stores stores = Stores::automatic;
};

/// Dequantizes the whole tensor. Checks everything before the first write: fails with
/// invalid_argument when a span is too short, when y overlaps an input, when a zero point of a
/// float8 or float4 x is not zero, or when an entry of the group index is no group; y is then
/// untouched. Never allocates. Gaps in a strided y stay as they are.
DEQUANT_EXPORT Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options = {});

/// The same for some elements of any plan, and in the same bits: the buffers hold just
/// slices_of(plan, elements). For tensors too large for memory, band by band in the order of y.
/// Fails with invalid_argument, too, when the range does not lie within the tensor.
DEQUANT_EXPORT Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                                const RunOptions& options = {});

}  // namespace dequant
