// The function type of kernels, their arguments, and the table with one kernel for each arithmetic,
// element, output and scale layout. This file does not depend on an instruction set.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "block/unpack.h"
#include "dequant/element.h"
#include "element/reference.h"

namespace dequant {

/// Bytes of a cache line, the unit of streaming. To stream results is to write them with
/// non-temporal stores, which bypass the caches.
inline constexpr size_t kCacheLine = 64;

/// Bytes from the codes that a kernel loads to the codes that it prefetches, while it streams
/// results. The arithmetic is too short to hide a cache miss, and the hardware prefetcher is too
/// late.
inline constexpr size_t kPrefetchDistanceX = 2048;

/// The arguments of a kernel, for one span of elements. The codes of the span start on a byte, and
/// so do the codes of each group. `scale` and `zero` hold one entry for each group
/// (ScaleLayout::per_group) or each element (ScaleLayout::per_element). x and y may have any
/// alignment.
struct KernelArgs {
  const uint8_t* x;
  uint8_t* y;
  size_t count;      ///< elements, at least 1
  size_t group = 0;  ///< per_group: elements that share a scale; the last group may be short
  const float* scale = nullptr;
  const int32_t* zero = nullptr;  ///< integers: the zero point (of uint32: its bit pattern)
  const float* lut = nullptr;     ///< floats, codebooks: the value of every code
  /// True: results are streamed where y, or the y of a group, is aligned to a cache line.
  bool stream = false;
  /// Bytes from the codes that are loaded to the codes that are prefetched, if results are
  /// streamed.
  size_t prefetch_distance = kPrefetchDistanceX;
  /// True: is_finite_normal() holds for every scale and offset. Then no float32 result, before it
  /// is rounded to y's element, is subnormal, and only codes that are NaN have the result NaN.
  bool finite_normal = false;
  bool scales_of_y = false;       ///< every scale is exact in y's element
  const float* offset = nullptr;  ///< range kernels: added to the product; laid out as scale
  const AffineFormula* formula = nullptr;  ///< formula kernels: the formula; no other parameters
  /// per_element: float16 scales, stored or of Helpers::narrow, and int16 zero points; or null.
  const uint16_t* scale16 = nullptr;
  const int16_t* zero16 = nullptr;
  // For the kernels of rows that share scales and zero points; `count` is the elements of a row.
  size_t rows = 1;
  /// Bytes from the start of a row of x to the start of the next row; of unpacked blocks from the
  /// codes of a group to those of the next group.
  size_t x_row = 0;
  size_t y_row = 0;  ///< the same distance in y
};

/// The prefetch distance of codes if the results at y are streamed; 0 if not. Non-temporal stores
/// write whole cache lines, so y must be aligned to a cache line.
[[gnu::always_inline]] inline size_t prefetch_distance_of(const KernelArgs& a, const uint8_t* y) {
  return a.stream && reinterpret_cast<uintptr_t>(y) % kCacheLine == 0 ? a.prefetch_distance : 0;
}

/// Bytes from the results that a kernel stores to the cache line of y that it prefetches, while
/// results are not streamed. A store that misses the nearest cache delays all later stores.
inline constexpr size_t kPrefetchDistanceY = 512;

/// The bits of 2^-100 in float32.
inline constexpr uint32_t kLeastFiniteNormal = (127u - 100u) << 23;

/// True for a scale or offset that needs no special case in a kernel: a finite number of magnitude
/// 2^-100 or more, with which no code of any element has a subnormal result; with zero_too also
/// zero. Infinity times zero is NaN, so zero_too must be false for the scales of elements with
/// infinities.
constexpr bool is_finite_normal(float value, bool zero_too) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFF;
  if (magnitude == 0) return zero_too;
  return magnitude >= kLeastFiniteNormal && magnitude < 0x7F800000;
}

/// True for a value of a codebook whose products with scales of is_finite_normal() are like those
/// of an element's codes: neither subnormal nor NaN.
constexpr bool is_finite_normal_value(float value) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFF;
  constexpr uint32_t kLeast = (127u - 17u) << 23;  // 2^-17: times 2^-100 it is not subnormal
  return magnitude == 0 || (magnitude >= kLeast && magnitude < 0x7F800000);
}

/// True for the input elements with infinities, whose scales need zero_too = false.
constexpr bool has_infinity(Element x) { return x == Element::float8e5m2; }

/// Vectors in a group of `elements`, if kernels have a loop whose every step holds several whole
/// groups of this size: 1 or 2. 0: kernels have no such loop.
constexpr size_t vectors_of_short_group(size_t elements, size_t lanes) {
  return elements == lanes ? 1 : elements == 2 * lanes ? 2 : 0;
}

using KernelFn = void (*)(const KernelArgs&);

enum class ScaleLayout : uint8_t { per_group, per_element };

/// The number of input elements: all elements before float8e8m0, the first that is not an input.
inline constexpr size_t kInputs = static_cast<size_t>(Element::float8e8m0);
inline constexpr size_t kOutputs = 3;
inline constexpr size_t kScaleLayouts = 2;

/// The output elements, in the order of their index in the table.
inline constexpr std::array<Element, kOutputs> kOutputElements{Element::float32, Element::float16,
                                                               Element::bfloat16};

constexpr size_t output_index(Element output) {
  return output == Element::float32 ? 0 : output == Element::float16 ? 1 : 2;
}

/// The input elements of the rules of ranges.
inline constexpr std::array kRangeElements{Element::uint8, Element::int8, Element::uint16,
                                           Element::int16, Element::int32};

/// The index of an element in kRangeElements; kRangeElements.size() for every other element.
constexpr size_t range_index(Element x) {
  size_t i = 0;
  while (i < kRangeElements.size() && kRangeElements[i] != x) ++i;
  return i;
}

/// Codes in a layout of their own, to a byte each. The first code is the first of a unit of the
/// layout: of a byte (streams, high first), of a word (words, interleaved), of 32 codes (planes).
/// `bytes` can be read from `from` on, those of the codes at least. Up to Helpers::kUnpackSlack
/// bytes after the last code are overwritten too.
using UnpackFn = void (*)(const uint8_t* from, size_t bytes, size_t count, uint8_t* to);

/// The bits of a field, from bit `shift` on, of `count` words or bytes that follow one another, to
/// a byte each.
struct FieldArgs {
  const uint8_t* from;  ///< words at any alignment
  size_t count;
  int shift;
  int bits;
  uint8_t* to;
};

/// The most bits of a code of a Packing.
inline constexpr size_t kMostCodeBits = 8;

/// What is done with float32 products: reference_after_product() for each element.
struct AfterArgs {
  const float* products;
  uint8_t* y;
  size_t count;  ///< at least 1
  float factor = 1;
  const int32_t* zero = nullptr;  ///< the bits of float32 zero points; null: there are none
  /// Elements that share a zero point: 1, kShortResultGroup, count or more, or a multiple of
  /// kResultGroup.
  size_t group = 1;
  bool subtracts = false;  ///< zero points are subtracted, not added
  bool stream = false;     ///< y starts and ends with a cache line, and is streamed
};

/// A multiple of the elements of a step on every target.
inline constexpr size_t kResultGroup = 64;
/// A multiple of the elements of a vector on every target: the codes of a table of results.
inline constexpr size_t kShortResultGroup = 16;

using AfterFn = void (*)(const AfterArgs&);

/// Zero points of floats, subtracted before the product, in place: each value becomes
/// fl32(round(fl32(value - zero)) * scale), but for the bits of a NaN.
struct FloatZeroArgs {
  float* values;
  size_t count = 0;  ///< at least 1
  const float* scale = nullptr;
  const int32_t* zero = nullptr;  ///< the bits of float32
  size_t group = 1;               ///< elements that share both, as in AfterArgs
};

using FloatZeroFn = void (*)(const FloatZeroArgs&);

/// Results that are looked up: that of element i is entry 16 * (i / group) + code of the tables.
struct LookUpArgs {
  const uint8_t* codes;
  uint8_t* y;
  size_t count;           ///< at least 1
  size_t group;           ///< 32, a multiple of kResultGroup, or count or more
  const uint8_t* tables;  ///< entries are aligned
  bool stream = false;    ///< y starts with a cache line; whole steps are streamed
};

using LookUpFn = void (*)(const LookUpArgs&);

/// Vector functions that run() needs beside kernels: for parameters, for layouts of codes, for what
/// follows the product, and for copies.
struct Helpers {
  /// True if is_finite_normal() holds for all values.
  bool (*all_finite_normal)(const float* values, size_t count, bool zero_too) = nullptr;
  /// A parameter: its values, one for each group, and the array for one value for each element.
  struct Spread {
    const uint32_t* values;
    uint32_t* out;
  };
  /// Fills `out` of one or two parameters with `count` words: each value `group` times, but the
  /// first value `skip` times less. Demands group >= 2, skip < group and count <= kMostRepeated. Up
  /// to kSlack words after the last are overwritten too.
  void (*repeat)(const Spread* params, size_t how_many, size_t group, size_t skip,
                 size_t count) = nullptr;
  /// Integer codes of at most 16 bits to int32; the first code starts on a byte. Null for other
  /// elements.
  std::array<void (*)(const uint8_t* from, size_t count, int32_t* to), kInputs> widen{};
  /// float16 or bfloat16 codes, at any alignment, to float32. A NaN becomes a NaN.
  void (*widen_float16)(const uint8_t* from, size_t count, float* to) = nullptr;
  void (*widen_bfloat16)(const uint8_t* from, size_t count, float* to) = nullptr;
  /// Parameters for kernels that compute in float16: scales that are finite, normal and exact in
  /// float16 to float16 codes, zero points of at most 8 bits to int16. Up to kNarrowSlack entries
  /// after the last are overwritten too, and kernels may read them. Null if the target has no such
  /// kernels.
  void (*narrow)(const float* scale, const int32_t* zero, size_t count, uint16_t* scale16,
                 int16_t* zero16) = nullptr;
  /// The zero points of `narrow` from their stored codes; the first code starts on a byte. Null for
  /// elements without such kernels. The kernels read stored float16 scales directly if
  /// all_finite_normal16() holds.
  std::array<void (*)(const uint8_t* zero, size_t count, int16_t* zero16), kInputs> narrow_zeros{};
  /// True if is_finite_normal() holds for the values of all float16 codes.
  bool (*all_finite_normal16)(const uint16_t* codes, size_t count, bool zero_too) = nullptr;
  /// Copies bytes, with non-temporal stores where whole cache lines are written.
  void (*stream)(const uint8_t* from, uint8_t* to, size_t bytes) = nullptr;

  // By the bits of a code; null where an order has no such codes.
  std::array<UnpackFn, kMostCodeBits + 1> unpack_stream{};
  std::array<UnpackFn, kMostCodeBits + 1> unpack_words{};
  std::array<UnpackFn, kMostCodeBits + 1> unpack_planes{};
  UnpackFn unpack_interleaved = nullptr;
  UnpackFn unpack_high_first = nullptr;
  /// A stream of float4e2m1, to float8e4m3fn codes of the same values.
  UnpackFn unpack_float4 = nullptr;
  void (*fields_of_bytes)(const FieldArgs&) = nullptr;
  void (*fields_of_words)(const FieldArgs&) = nullptr;
  /// Packs the low four bits of two bytes that follow one another to a byte of `low`, and the high
  /// ones to a byte of `high`; of an odd last byte with zeros. The buffers do not overlap.
  void (*split_nibbles)(const uint8_t* from, size_t count, uint8_t* low, uint8_t* high) = nullptr;
  /// Byte k of word i, of `count` words that follow one another, to to[k * count + i].
  void (*bytes_of_words)(const uint8_t* from, size_t count, uint8_t* to) = nullptr;

  // By output_index() of the type to which results are rounded, and of the output.
  std::array<std::array<AfterFn, 3>, 3> after_product{};
  std::array<FloatZeroFn, 3> subtract_floats{};
  /// For codes of four bits, the first in the low bits of a byte, and for codes of a byte below 16:
  /// results of 16 bits; float32 results, null where a target has no fast way.
  std::array<LookUpFn, 2> look_up_words{};
  std::array<LookUpFn, 2> look_up_floats{};
  /// Rounds float32 values to float16 or bfloat16, in place: reference_round() for each.
  void (*round_to_float16)(float* values, size_t count) = nullptr;
  void (*round_to_bfloat16)(float* values, size_t count) = nullptr;

  static constexpr size_t kSlack = 16;
  static constexpr size_t kUnpackSlack = 64;
  static constexpr size_t kNarrowSlack = 64;
  static constexpr size_t kMostRepeated = size_t{1} << 14;
};

/// The transposition of a matrix of codes: to[column * to_stride + row] = from[row * from_stride +
/// column]. Strides are in bytes, row and column in codes. The two buffers do not overlap.
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

  /// Kernels of Rule::subtract_then_scale: reference_dequantize() for each element.
  std::array<std::array<KernelsOfLayouts, kOutputs>, kInputs> kernels{};
  /// Kernels of the rules of ranges: reference_scale_add() for each element. Every entry of `zero`
  /// is the same shift.
  std::array<std::array<KernelsOfLayouts, kOutputs>, kRangeElements.size()> range_kernels{};
  /// Kernels of the documented rules: reference_formula() for each element, to float32.
  std::array<KernelFn, kRangeElements.size()> formula_kernels{};
  /// Kernels of Rule::subtract_then_scale for many rows with the same scales and zero points, one
  /// for each element of a row. Null where no such kernel is faster than a call of the per_element
  /// kernel for each row.
  std::array<std::array<KernelFn, kOutputs>, kInputs> shared_rows{};
  /// Kernels whose codes, a byte each, are indices of a table of float32 values, KernelArgs::lut:
  /// reference_scaled_value() for each element. First those for indices below kSmallCodebook, whose
  /// tables have so many values, then those for all.
  std::array<std::array<KernelsOfLayouts, kOutputs>, 2> codebook_kernels{};
  static constexpr size_t kSmallCodebook = 16;
  static constexpr size_t kCodebook = 256;
  /// Blocks to codes and scales, by block type: reference_unpack_blocks().
  std::array<UnpackBlocksFn, kBlockTypes> unpack_blocks{};
  /// Kernels of int8 codes, per_group, with zero points of 0: of whole unpacked blocks, of which
  /// kUnpackedSlack entries after the last may be read. With `sums`, groups have offsets, as in
  /// range_kernels.
  std::array<KernelFn, kOutputs> block_products{};
  std::array<KernelFn, kOutputs> block_sums{};
  static constexpr size_t kUnpackedSlack = 64;
  /// True: the groups of block_products may lie apart, KernelArgs::x_row. Nothing but their codes
  /// is read if they fill whole steps of four vectors.
  bool blocks_in_place = false;
  /// float32 lanes of a vector.
  size_t lanes = 1;
  Helpers helpers;
  /// Transpositions of codes of 1, 2 and 4 bytes.
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
  KernelFn& codebook_at(bool small, Element y, ScaleLayout scale_layout) {
    return codebook_kernels[small ? 0 : 1][output_index(y)][static_cast<size_t>(scale_layout)];
  }
  KernelFn codebook_at(bool small, Element y, ScaleLayout scale_layout) const {
    return codebook_kernels[small ? 0 : 1][output_index(y)][static_cast<size_t>(scale_layout)];
  }
  KernelFn& formula_at(Element x) { return formula_kernels[range_index(x)]; }
  KernelFn formula_at(Element x) const { return formula_kernels[range_index(x)]; }
};

}  // namespace dequant
