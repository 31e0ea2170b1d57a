// What a kernel is: a row function, its arguments, and the table that holds one for every
// (arithmetic, element, output, leaf). Nothing here knows an instruction set.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "dequant/element.h"
#include "element/reference.h"

namespace dequant {

/// Bytes that are streamed together: a line of the cache.
inline constexpr size_t kLine = 64;

/// How far ahead codes are fetched when results are streamed: the arithmetic leaves too little room for
/// loads that miss the caches, and what the processor fetches by itself comes too late.
inline constexpr size_t kAheadOfX = 2048;

/// One stretch of elements. x starts on a byte and so does every run of it. `scale` and `zero` hold
/// one entry per run (Leaf::runs) or per element (Leaf::varying). Any alignment of x and y.
struct RowArgs {
  const uint8_t* x;
  uint8_t* y;
  size_t count;    ///< elements, at least 1
  size_t run = 0;  ///< Leaf::runs: elements per scale; the last run may be short
  const float* scale = nullptr;
  const int32_t* zero = nullptr;  ///< integers: the zero point (of uint32: its bit pattern)
  const float* lut = nullptr;     ///< floats: the value of every code
  bool stream = false;  ///< store past the caches what starts on kLine bytes: y, or a run of it
  size_t ahead = kAheadOfX;  ///< if so, codes are asked for so many bytes before they are read
  bool plain = false;  ///< is_plain() of every scale and offset: no result is NaN or subnormal
  bool scales_of_y = false;           ///< every scale is a number that y's element has
  const float* offset = nullptr;      ///< range rows: as scale, what is added after it
  const Line* line = nullptr;         ///< line rows: all they need beside x, y and count
  const uint16_t* scale16 = nullptr;  ///< Leaf::varying: scale as Moves::narrow has it, or null
  const int16_t* zero16 = nullptr;    ///< and zero
  size_t rows = 1;   ///< shared rows: so many, which have the same scales and zero points
  size_t x_row = 0;  ///< shared rows: bytes from a row to the next one, of x and of y
  size_t y_row = 0;
};

/// Streaming writes whole lines of the cache, so y must start with one. How far ahead codes are fetched if
/// results are streamed to y; 0: they are not.
[[gnu::always_inline]] inline size_t streams_ahead(const RowArgs& a, const uint8_t* y) {
  return a.stream && reinterpret_cast<uintptr_t>(y) % kLine == 0 ? a.ahead : 0;
}

/// How far ahead lines of results that stay in the caches are fetched: a store that misses the nearest
/// cache holds up those behind it.
inline constexpr size_t kAheadOfY = 512;

/// The code of 2^-100.
inline constexpr uint32_t kSmallestPlain = (127u - 100u) << 23;

/// True for a scale or offset that lets rows take shorter ways: finite, and so large that no code of any
/// element comes near a subnormal result, or zero. Infinity times zero is a NaN, though: the elements
/// that have infinities do not take zeros.
constexpr bool is_plain(float value, bool zero_too) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7FFFFFFF;
  if (magnitude == 0) return zero_too;
  return magnitude >= kSmallestPlain && magnitude < 0x7F800000;
}

/// What is_plain() asks of the scales of an element.
constexpr bool has_infinity(Element x) { return x == Element::float8e5m2; }

using RowFn = void (*)(const RowArgs&);

enum class Leaf : uint8_t { runs, varying };

inline constexpr size_t kInputs = static_cast<size_t>(Element::float4e2m1) + 1;
inline constexpr size_t kOutputs = 3;
inline constexpr size_t kLeaves = 2;

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

/// What else the way to a row takes, at the speed of vectors.
struct Moves {
  /// True if is_plain() of all values.
  bool (*all_plain)(const float* values, size_t count, bool zero_too) = nullptr;
  /// Sides and where they go, once for each element.
  struct Spread {
    const uint32_t* values;
    uint32_t* out;
  };
  /// `count` words of out for one or two sides: each value `run` times, but the first only from its
  /// `into`th time on; count <= kMostRepeated. Writes up to kSlack words more.
  void (*repeat)(const Spread* sides, size_t how_many, size_t run, size_t into,
                 size_t count) = nullptr;
  /// Integers of at most 16 bits as int32, from the start of a byte on; null for other elements.
  std::array<void (*)(const uint8_t* from, size_t count, int32_t* to), kInputs> widen{};
  /// Values of float16 or bfloat16 codes at any alignment. NaNs stay NaNs.
  void (*widen_float16)(const uint8_t* from, size_t count, float* to) = nullptr;
  void (*widen_bfloat16)(const uint8_t* from, size_t count, float* to) = nullptr;
  /// Scales of rows to float16 whose scales_of_y are plain, and zero points of 8 bits or fewer, in 16 bits.
  /// Writes up to kNarrowSlack more, which rows may read. Null if no row takes them.
  void (*narrow)(const float* scale, const int32_t* zero, size_t count, uint16_t* scale16,
                 int16_t* zero16) = nullptr;
  /// The same of zero points as they are stored, from the start of a byte on; null for elements without such
  /// rows. These take float16 scales as they are stored, if all_plain16().
  std::array<void (*)(const uint8_t* zero, size_t count, int16_t* zero16), kInputs> narrow_zeros{};
  /// True if is_plain() of all float16 codes.
  bool (*all_plain16)(const uint16_t* codes, size_t count, bool zero_too) = nullptr;
  /// Copies, past the caches where whole lines are written.
  void (*stream)(const uint8_t* from, uint8_t* to, size_t bytes) = nullptr;

  static constexpr size_t kSlack = 16;
  static constexpr size_t kNarrowSlack = 64;
  static constexpr size_t kMostRepeated = size_t{1} << 14;
};

/// Rows of codes that become columns: to[column * to_stride + row] = from[row * from_stride + column],
/// the strides in bytes, the others in codes. No side overlaps the other.
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
  using Leaves = std::array<RowFn, kLeaves>;

  /// Rule::subtract_then_scale: reference_dequantize() for each element.
  std::array<std::array<Leaves, kOutputs>, kInputs> rows{};
  /// The rules of ranges: reference_scale_add(), `zero` being the shift, the same for all.
  std::array<std::array<Leaves, kOutputs>, kRangeElements.size()> range_rows{};
  /// The documented rules: reference_line(), to float32.
  std::array<RowFn, kRangeElements.size()> line_rows{};
  /// The rule of `rows`, a scale for each element, many rows that share them; null where there is no way
  /// that is better than Leaf::varying for each.
  std::array<std::array<RowFn, kOutputs>, kInputs> shared_rows{};
  /// Elements of a vector of float32. Runs of one or two vectors are as good as long ones.
  size_t lanes = 1;
  Moves moves;
  /// Of codes of 1, 2 and 4 bytes.
  std::array<TransposeFn, 3> transpose{};

  RowFn& at(Element x, Element y, Leaf leaf) {
    return rows[static_cast<size_t>(x)][output_index(y)][static_cast<size_t>(leaf)];
  }
  RowFn at(Element x, Element y, Leaf leaf) const {
    return rows[static_cast<size_t>(x)][output_index(y)][static_cast<size_t>(leaf)];
  }
  RowFn& shared_at(Element x, Element y) {
    return shared_rows[static_cast<size_t>(x)][output_index(y)];
  }
  RowFn shared_at(Element x, Element y) const {
    return shared_rows[static_cast<size_t>(x)][output_index(y)];
  }
  RowFn& range_at(Element x, Element y, Leaf leaf) {
    return range_rows[range_index(x)][output_index(y)][static_cast<size_t>(leaf)];
  }
  RowFn range_at(Element x, Element y, Leaf leaf) const {
    return range_rows[range_index(x)][output_index(y)][static_cast<size_t>(leaf)];
  }
  RowFn& line_at(Element x) { return line_rows[range_index(x)]; }
  RowFn line_at(Element x) const { return line_rows[range_index(x)]; }
};

}  // namespace dequant
