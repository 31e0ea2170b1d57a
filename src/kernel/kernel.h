// What a kernel is: a function, its arguments, and the table that holds one for every arithmetic,
// element, output and scale layout. Nothing here knows an instruction set.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dequant/element.h"
#include "element/reference.h"

namespace dequant {

/// Bytes that are streamed together: a cache line.
inline constexpr size_t kCacheLine = 64;

/// The prefetch distance of codes when results are streamed: the arithmetic leaves too little room
/// for loads that miss the caches, and what the processor fetches by itself comes too late.
inline constexpr size_t kPrefetchDistanceX = 2048;

/// One span of elements: x starts on a byte, and so does every group of it. `scale` and `zero` hold
/// one entry per group (ScaleLayout::per_group) or per element (ScaleLayout::per_element). Any
/// alignment of x and y.
struct KernelArgs {
  const uint8_t* x;
  uint8_t* y;
  size_t count;      ///< elements, at least 1
  size_t group = 0;  ///< per_group: elements that share a scale; the last group may be short
  const float* scale = nullptr;
  const int32_t* zero = nullptr;  ///< integers: the zero point (of uint32: its bit pattern)
  const float* lut = nullptr;     ///< floats: the value of every code
  /// Results bypass the caches where y, or a group of it, starts with a cache line. Codes are then
  /// prefetched so many bytes before they are read.
  bool stream = false;
  size_t prefetch_distance = kPrefetchDistanceX;
  /// is_finite_normal() of every scale and offset: no result is NaN or subnormal.
  bool finite_normal = false;
  bool scales_of_y = false;                ///< every scale is a number that y's element has
  const float* offset = nullptr;           ///< range kernels: as scale, what is added after it
  const AffineFormula* formula = nullptr;  ///< formula kernels: all they need beside x, y and count
  /// per_element: scale and zero as Helpers::narrow makes them, or null.
  const uint16_t* scale16 = nullptr;
  const int16_t* zero16 = nullptr;
  // Of the kernels for rows that share scales and zero points:
  size_t rows = 1;
  size_t x_row = 0;  ///< bytes from a row to the next one, of x and of y
  size_t y_row = 0;
};

/// Streaming writes whole cache lines, so y must start with one. The prefetch distance of codes if
/// results are streamed to y; 0: they are not.
[[gnu::always_inline]] inline size_t prefetch_distance_of(const KernelArgs& a, const uint8_t* y) {
  return a.stream && reinterpret_cast<uintptr_t>(y) % kCacheLine == 0 ? a.prefetch_distance : 0;
}

/// How far ahead cache lines of results that stay in the caches are fetched: a store that misses
/// the nearest cache holds up those behind it.
inline constexpr size_t kPrefetchDistanceY = 512;

/// The code of 2^-100.
inline constexpr uint32_t kLeastFiniteNormal = (127u - 100u) << 23;

/// True for a scale or offset that lets kernels take shorter ways: finite, and so large that no
/// code of any element comes near a subnormal result, or zero. Infinity times zero is a NaN,
/// though: the elements that have infinities do not take zeros.
constexpr bool is_finite_normal(float value, bool zero_too) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFF;
  if (magnitude == 0) return zero_too;
  return magnitude >= kLeastFiniteNormal && magnitude < 0x7F800000;
}

/// What is_finite_normal() asks of the scales of an element.
constexpr bool has_infinity(Element x) { return x == Element::float8e5m2; }

/// Vectors of a group of elements that share a scale, where a kernel has a loop for groups so short
/// that do not fill an iteration: one or two, done one after another without a seam. 0: no such
/// loop.
constexpr size_t vectors_of_short_group(size_t elements, size_t lanes) {
  return elements == lanes ? 1 : elements == 2 * lanes ? 2 : 0;
}

using KernelFn = void (*)(const KernelArgs&);

enum class ScaleLayout : uint8_t { per_group, per_element };

/// The elements before the first that is none.
inline constexpr size_t kInputs = static_cast<size_t>(Element::float8e8m0);
inline constexpr size_t kOutputs = 3;
inline constexpr size_t kScaleLayouts = 2;

/// Outputs in the order of the table.
inline constexpr std::array<Element, kOutputs> kOutputElements{Element::float32, Element::float16,
                                                               Element::bfloat16};

constexpr size_t output_index(Element output) {
  return output == Element::float32 ? 0 : output == Element::float16 ? 1 : 2;
}

/// Elements that the rules of ranges take.
inline constexpr std::array kRangeElements{Element::uint8, Element::int8, Element::uint16,
                                           Element::int16, Element::int32};

/// Where an element stands in kRangeElements, or its size if it does not.
constexpr size_t range_index(Element x) {
  size_t i = 0;
  while (i < kRangeElements.size() && kRangeElements[i] != x) ++i;
  return i;
}

/// Helper kernels: what else run() does with vectors.
struct Helpers {
  /// True if is_finite_normal() of all values.
  bool (*all_finite_normal)(const float* values, size_t count, bool zero_too) = nullptr;
  /// Parameters and where they go, once for each element.
  struct Spread {
    const uint32_t* values;
    uint32_t* out;
  };
  /// `count` words of out for one or two parameters: each value `group` times, but the first only
  /// from its `into`th time on; count <= kMostRepeated. Writes up to kSlack words more.
  void (*repeat)(const Spread* params, size_t how_many, size_t group, size_t into,
                 size_t count) = nullptr;
  /// Integers of at most 16 bits as int32, from the start of a byte on; null for other elements.
  std::array<void (*)(const uint8_t* from, size_t count, int32_t* to), kInputs> widen{};
  /// Values of float16 or bfloat16 codes at any alignment. NaNs stay NaNs.
  void (*widen_float16)(const uint8_t* from, size_t count, float* to) = nullptr;
  void (*widen_bfloat16)(const uint8_t* from, size_t count, float* to) = nullptr;
  /// Scales of kernels to float16 whose scales_of_y are finite and normal, and zero points of 8
  /// bits or fewer, in 16 bits. Writes up to kNarrowSlack more, which kernels may read. Null if no
  /// kernel takes them.
  void (*narrow)(const float* scale, const int32_t* zero, size_t count, uint16_t* scale16,
                 int16_t* zero16) = nullptr;
  /// The same of zero points as they are stored, from the start of a byte on; null for elements
  /// without such kernels. These take float16 scales as they are stored, if all_finite_normal16().
  std::array<void (*)(const uint8_t* zero, size_t count, int16_t* zero16), kInputs> narrow_zeros{};
  /// True if is_finite_normal() of all float16 codes.
  bool (*all_finite_normal16)(const uint16_t* codes, size_t count, bool zero_too) = nullptr;
  /// Copies, past the caches where whole cache lines are written.
  void (*stream)(const uint8_t* from, uint8_t* to, size_t bytes) = nullptr;

  static constexpr size_t kSlack = 16;
  static constexpr size_t kNarrowSlack = 64;
  static constexpr size_t kMostRepeated = size_t{1} << 14;
};

/// Rows of codes that become columns: to[column * to_stride + row] = from[row * from_stride +
/// column], the strides in bytes, the others in codes. The two do not overlap.
struct TransposeArgs {
  const uint8_t* from;
  ptrdiff_t from_stride;
  uint8_t* to;
  size_t to_stride;
  size_t rows;
  size_t columns;
};

using TransposeFn = void (*)(const TransposeArgs&);

struct Table {
  using KernelsOfLayouts = std::array<KernelFn, kScaleLayouts>;

  /// Rule::subtract_then_scale: reference_dequantize() for each element.
  std::array<std::array<KernelsOfLayouts, kOutputs>, kInputs> kernels{};
  /// The rules of ranges: reference_scale_add(), `zero` being the shift, the same for all.
  std::array<std::array<KernelsOfLayouts, kOutputs>, kRangeElements.size()> range_kernels{};
  /// The documented rules: reference_formula(), to float32.
  std::array<KernelFn, kRangeElements.size()> formula_kernels{};
  /// The rule of `kernels`, a scale for each element, many rows that share them; null where there
  /// is no way that is better than ScaleLayout::per_element for each.
  std::array<std::array<KernelFn, kOutputs>, kInputs> shared_rows{};
  /// Elements of a vector of float32.
  size_t lanes = 1;
  Helpers helpers;
  /// Of codes of 1, 2 and 4 bytes.
  std::array<TransposeFn, 3> transpose{};

  KernelFn& at(Element x, Element y, ScaleLayout scale_layout) {
    return kernels[static_cast<size_t>(x)][output_index(y)][static_cast<size_t>(scale_layout)];
  }
  KernelFn at(Element x, Element y, ScaleLayout scale_layout) const {
    return kernels[static_cast<size_t>(x)][output_index(y)][static_cast<size_t>(scale_layout)];
  }
  KernelFn& shared_at(Element x, Element y) {
    return shared_rows[static_cast<size_t>(x)][output_index(y)];
  }
  KernelFn shared_at(Element x, Element y) const {
    return shared_rows[static_cast<size_t>(x)][output_index(y)];
  }
  KernelFn& range_at(Element x, Element y, ScaleLayout scale_layout) {
    return range_kernels[range_index(x)][output_index(y)][static_cast<size_t>(scale_layout)];
  }
  KernelFn range_at(Element x, Element y, ScaleLayout scale_layout) const {
    return range_kernels[range_index(x)][output_index(y)][static_cast<size_t>(scale_layout)];
  }
  KernelFn& formula_at(Element x) { return formula_kernels[range_index(x)]; }
  KernelFn formula_at(Element x) const { return formula_kernels[range_index(x)]; }
};

}  // namespace dequant
