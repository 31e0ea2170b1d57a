// The plan: all that a dialect says about one dequantization, as plain data. And run(), which
// carries a plan out on the caller's memory.
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
  /// y = narrow(fl32(fl32(x) * s)), s from the larger of both ranges; of min_range the lowest code is
  /// the divisor.
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
  strided,     ///< as the strides of `dimensions` say, which place x and y too
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

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

/// Dimensions of a strided plan: eight, each cut in three by blocks.
inline constexpr int kMaxDimensions = 24;

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

  friend bool operator==(const Plan&, const Plan&) = default;
};

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

/// The scales that the elements of a range need; both ends are multiples of 8 or the last scale, so
/// that a slice of packed zero points starts on a byte. `elements` must lie within the tensor. Of a
/// strided plan: all.
DEQUANT_EXPORT Range scales_of(const Plan& plan, Range elements) noexcept;

/// The caller's memory: packed, little-endian, at any alignment. Spans may be longer than needed.
struct Buffers {
  std::span<const std::byte> x;
  std::span<const std::byte> scale;       ///< empty for rules that take ranges
  std::span<const std::byte> zero_point;  ///< empty unless the plan has one
  std::span<std::byte> y;
  std::span<const std::byte> min_range = {};  ///< these two only for rules that take ranges
  std::span<const std::byte> max_range = {};
};

/// The check of zero points that run() makes, for those who want to know earlier: a float8 or float4 x
/// has none but +0 and -0. Looks at all that the span holds, at most scale_count(plan).
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
/// invalid_argument when a span is too short, when y overlaps an input, or when a zero point of a
/// float8 or float4 x is not zero; y is then untouched. Never allocates. Gaps in a strided y stay as
/// they are.
DEQUANT_EXPORT Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options = {});

/// The same for the elements of a range, whose begin is a multiple of 8: x and y hold just those
/// elements, the other buffers just scales_of(plan, elements). For tensors too large for memory. A
/// strided plan is refused.
DEQUANT_EXPORT Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                                const RunOptions& options = {});

}  // namespace dequant
