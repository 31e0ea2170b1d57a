// Plans whose vectors lie in memory as kernels want them: aligned, in one row, with the parameters
// of one group or one after the other. Their kernel has no division, and few branches.
#pragma once

#include <cstdint>

#include "cuda/plan/device_plan.h"
#include "cuda/plan/fast_layout.h"

namespace dequant::cuda {

/// A dimension in the order in which vectors count: `y` and `x` are bytes, the other strides
/// elements. Neighbours of `block` share parameters.
struct FastDimension {
  uint32_t size = 1;
  SmallDivisor by_size = {};
  uint32_t block = 1;
  SmallDivisor by_block = {};
  /// Of a dimension with blocks, the index of the first vector, whose addresses x and y have.
  uint32_t first = 0;
  uint32_t scale = 0;
  uint32_t zero_point = 0;
  uint32_t group = 0;  ///< of the group index
  int64_t x = 0;
  int64_t y = 0;
  uint32_t short_x = 0;  ///< x and y where FastPlan::has_blocks is false
  uint32_t short_y = 0;
};

/// The kinds of codes, each with a kernel for some widths.
enum class FastKind : uint8_t {
  integer,  ///< codes and zero points of at most 16 bits
  wide,     ///< of 32 bits
  floating,
  codebook,
};

/// How a scale, or a zero point, is stored.
enum class FastParam : uint8_t {
  constant,  ///< integer zero points, and offsets, that are not stored
  float32,
  float16,
  bfloat16,
  bits2,
  bits4,
  bits8,
  bits16,
  bits32,
  packed,  ///< as FastPlan::zero_layout has it
  none,    ///< in a way that no fast kernel reads
};

/// How a thread of a kernel of vectors gets parameters.
enum class FastMode : uint8_t {
  groups,        ///< its vectors, or each two of them, have the parameters of a group
  shared,        ///< all its vectors have the parameters of one group
  each,          ///< their elements have parameters each, the same ones in all vectors
  indexed,       ///< each element has the parameters of its entry of the group index
  rows,          ///< its vectors are in rows whose words and parameters are neighbours
  indexed_rows,  ///< the same with a group index
  finishing,     ///< all have the parameters of one group, and the plan is not plain
  ranges,        ///< their elements have ranges each, the same ones in all vectors
};

/// The widths of integers with ranges: run() takes no others.
constexpr bool may_have_ranges(int bits) noexcept { return bits == 8 || bits == 16 || bits == 32; }

/// A FloatFormat of at most 16 bits, of codes in the highest bits of 32.
struct FastFloat {
  Specials specials = Specials::none;
  int32_t shift = 0;  ///< of sign and magnitude to their places in a float32
  uint32_t mask = 0;  ///< of these
  float special = 0;  ///< the magnitude, in its place, of infinity or of NaN
  float factor = 1;   ///< 2^(127 - bias)
};

/// The vectors of a thread, at most; in FastMode::ranges twice as many.
inline constexpr int kMostUnits = 4;
/// Its spots in FastMode::groups: it has one or two vectors with the parameters of each.
inline constexpr int kGroupSpots = 2;

/// Rows of a thread of FastMode::rows and indexed_rows.
inline constexpr int kRowsAtOnce = 8;
/// Whether FastMode::indexed_rows takes scales of 32 bits: the scales of 8 rows and 8 columns would
/// fill 64 registers.
constexpr bool has_wide_scales(int64_t columns) noexcept { return columns <= 4; }

/// Dimensions that count, at most.
inline constexpr int kFastDimensions = 8;

struct FastPlan {
  Computation plan = {};
  const uint8_t* x = nullptr;  ///< of vector 0
  uint8_t* y = nullptr;
  FastKind kind = FastKind::integer;
  int32_t bits = 0;  ///< of a code; kUnpacked, or 6: `layout` has the codes, which x counts
  FastLayout layout = {};
  FastLayout zero_layout = {};
  bool high_first = false;
  uint32_t signs = 0;       ///< the sign bits of all codes of a word
  uint32_t zero_signs = 0;  ///< the sign bits of all zero points of a word
  bool each = false;        ///< every element has its own parameters, else every vector
  FastParam scale = FastParam::none;
  FastParam zero_point = FastParam::constant;  ///< of integers
  FastParam offset = FastParam::constant;      ///< of floats: see finish()
  int32_t constant_zero = 0;
  bool changes_scale = false;  ///< after it has been loaded
  bool plain = true;           ///< results are differences times scales
  bool wraps = false;          ///< zero points are sums modulo their width
  FastFloat number = {};
  uint32_t scale_origin = 0;
  uint32_t zero_point_origin = 0;

  // Of squares: see squares.h.
  bool square = false;
  bool by_row = false;       ///< rows have parameters each, else columns
  bool interleaved = false;  ///< the codes of a word: 0, 2, 4, 6, 1, 3, 5, 7
  bool zero_words = false;   ///< the zero points of eight rows are a word as well
  uint32_t scale_step = 0;   ///< from row to row or from column to column; with `groups` too
  uint32_t zero_point_step = 0;
  /// Bytes of x from column to column. Of vectors of 32 bits 0 where their codes are neighbours.
  int64_t column_x = 0;
  int64_t row_y = 0;  ///< bytes of y from row to row

  // With a group index: their number, 0 without, and strides from group to group.
  uint32_t groups = 0;
  uint32_t group_scale = 0;
  uint32_t group_zero_point = 0;
  uint32_t unit_words = 0;  ///< from the word of a unit to the word of the next
  bool has_rows = false;    ///< of FastMode::rows or indexed_rows

  // A thread's vectors with the same parameters or entries of the group index: their number, and
  // bytes from one to the next, or codes of `layout`. Of squares: 2 where a thread has two squares
  // whose columns are neighbours in x.
  int32_t units = 1;
  int64_t unit_x = 0;
  int64_t unit_y = 0;

  uint32_t vectors = 0;  ///< or squares; of those with the same parameters the first
  uint32_t threads = 0;
  FastMode mode() const noexcept {
    if (!plain) return each ? FastMode::ranges : FastMode::finishing;
    if (has_rows) return groups != 0 ? FastMode::indexed_rows : FastMode::rows;
    if (groups != 0) return FastMode::indexed;
    if (each) return FastMode::each;
    return units == kMostUnits ? FastMode::shared : FastMode::groups;
  }

  /// Some dimension has blocks or a first index, or strides of x or y that are not of 32 bits.
  bool has_blocks = false;
  int32_t rank = 0;  ///< at least 2
  FastDimension dimensions[kFastDimensions] = {};
  FastDimension innermost = {};  ///< the last dimension once more, where kernels need no index
};

static_assert(sizeof(FastPlan) <= 4096);

}  // namespace dequant::cuda
