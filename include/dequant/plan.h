// The plan: all that a dialect says about one dequantization, as plain data. And run(), which
// carries a plan out on the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dequant/element.h"
#include "dequant/executor.h"
#include "dequant/export.h"
#include "dequant/status.h"

namespace dequant {

/// The arithmetic of one element. See docs/numerics.md for every rounding.
enum class Rule : uint8_t {
  /// y = narrow(fl32(fl32(x - zero_point) * fl32(scale))), x - zero_point exact.
  subtract_then_scale,
};

/// Which elements share a scale (and a zero point).
enum class Granularity : uint8_t {
  per_tensor,  ///< all: one scale
  per_axis,    ///< those with the same index on the axis: `axis` scales
  blocked,     ///< `block` neighbours on the axis: outer * ceil(axis / block) * inner scales
};

/// One dequantization. x is seen as a row-major [outer, axis, inner]; a per-tensor plan has
/// outer = axis = 1. Plain data: compare it, print it, copy it.
struct Plan {
  Element input = Element::uint8;
  Element scale = Element::float32;
  Element output = Element::float32;
  bool has_zero_point = false;
  Rule rule = Rule::subtract_then_scale;
  Granularity granularity = Granularity::per_tensor;
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
  int64_t block = 1;  ///< elements of the axis that share a scale; 1 unless blocked

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Elements of x, and of y.
DEQUANT_EXPORT int64_t element_count(const Plan& plan) noexcept;

/// Number of scales, and of zero points where there are any.
DEQUANT_EXPORT int64_t scale_count(const Plan& plan) noexcept;

/// One line for people: "int4[2, 64, 8] blocked by 32 on the axis, float16 scale -> bfloat16".
DEQUANT_EXPORT std::string to_string(const Plan& plan);

/// A half-open range of element or scale indices.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  friend bool operator==(const Range&, const Range&) = default;
};

/// The scales that the elements of a range need; both ends are multiples of 8 or the last scale, so
/// that a slice of packed zero points starts on a byte. `elements` must lie within the tensor.
DEQUANT_EXPORT Range scales_of(const Plan& plan, Range elements) noexcept;

/// The caller's memory: packed, little-endian, at any alignment. Spans may be longer than needed.
struct Buffers {
  std::span<const std::byte> x;
  std::span<const std::byte> scale;
  std::span<const std::byte> zero_point;  ///< empty unless the plan has one
  std::span<std::byte> y;
};

/// The check of zero points that run() makes, for those who want to know earlier: a float8 or float4 x
/// has none but +0 and -0. Looks at all that the span holds, at most scale_count(plan).
DEQUANT_EXPORT Status check_zero_points(const Plan& plan, std::span<const std::byte> zero_point);

/// How output is stored. It never changes the bits.
enum class Stores : uint8_t {
  automatic,  ///< streaming when the output outgrows the last-level cache
  cached,
  streaming,
};

struct RunOptions {
  Executor executor = default_executor();
  Stores stores = Stores::automatic;
};

/// Dequantizes the whole tensor. Checks everything before the first write: fails with
/// invalid_argument when a span is too short, when y overlaps an input, or when a zero point of a
/// float8 or float4 x is not zero; y is then untouched. Never allocates.
DEQUANT_EXPORT Status run(const Plan& plan, const Buffers& buffers, const RunOptions& options = {});

/// The same for the elements of a range, whose begin is a multiple of 8: x and y hold just those
/// elements, scale and zero_point just scales_of(plan, elements). For tensors too large for memory.
DEQUANT_EXPORT Status run_range(const Plan& plan, Range elements, const Buffers& buffers,
                                const RunOptions& options = {});

}  // namespace dequant
