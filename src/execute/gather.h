// Tiles of strided plans: codes, scales and zero points are gathered from strided memory into
// contiguous buffers, and results are scattered from a contiguous buffer to y.
#pragma once

#include <cstdint>

#include "execute/odometer.h"
#include "execute/packed_codes.h"
#include "kernel/kernel.h"

namespace dequant {

/// Elements of the largest tile that is gathered.
inline constexpr int64_t kTile = 1024;

/// Where the elements of a tile lie in x or in y: rows, and the offset of each row from the first.
/// The offsets of one tile are those of every tile of the same outermost dimension that is not
/// longer. All in elements.
class RowOffsets {
 public:
  /// A row is as many elements as are contiguous. With `of_dimensions` a row is all of the
  /// innermost dimension at least, even if that dimension's elements lie step() apart.
  void set(Dimensions dimensions, int64_t Dimension::*stride, const Tile& tile,
           bool of_dimensions) noexcept;

  /// Elements of a row.
  int64_t row(const Tile& tile) const noexcept { return std::min(row_, tile.elements); }
  /// Rows of the tile.
  int64_t rows(const Tile& tile) const noexcept { return whole_ ? 1 : tile.count * per_index_; }
  /// True if all of the tile is contiguous.
  bool contiguous(const Tile& tile) const noexcept { return step_ == 1 && row_ >= tile.elements; }
  /// The distance from one element of a row to the next.
  int64_t step() const noexcept { return step_; }
  /// The offset of the second row from the first.
  int64_t second_row() const noexcept { return second_row_; }
  /// The offset of a row from the first.
  int64_t operator[](int64_t row) const noexcept { return at_[row]; }
  /// True if the offset of every row is a multiple of `multiple`, a power of two.
  bool all_on(int64_t multiple) const noexcept { return (any_ & (multiple - 1)) == 0; }

 private:
  bool whole_ = false;     ///< a tile is one row
  int64_t per_index_ = 1;  ///< rows of an index of the outermost dimension
  int64_t row_ = 0;
  int64_t step_ = 1;
  int64_t any_ = 0;  ///< the bitwise or of all offsets' summands
  int64_t second_row_ = 0;
  int64_t at_[kTile];
};

/// Copies the codes of a tile that starts at element `at` of x to `out`, contiguous:
/// gather_codes() as they are stored, for rows of whole bytes that start on bytes, each code of
/// `width` bits; gather_unpacked() as codes of unpacked(x), for any rows. Both prefetch the codes
/// of the next tile, which starts at element `next`; gather_unpacked() not those of a Packing.
void gather_codes(const std::byte* x, int64_t at, int64_t next, int64_t width,
                  const RowOffsets& offsets, const Tile& tile, uint8_t* out) noexcept;
void gather_unpacked(Element x, const std::byte* data, int64_t at, int64_t next,
                     const RowOffsets& offsets, const Tile& tile, uint8_t* out) noexcept;
void gather_unpacked(const PackedCodes& codes, int64_t at, const RowOffsets& offsets,
                     const Tile& tile, uint8_t* out) noexcept;

/// Copies the contiguous results of a tile, `size` bytes each, to y, where the tile starts.
void scatter_results(const uint8_t* results, int64_t size, const RowOffsets& offsets,
                     const Tile& tile, uint8_t* y) noexcept;

/// Most scales or zero points of a tile.
inline constexpr int64_t kParams = 4096;

/// Loads one scale as float32, or one zero point of an integer x as int32, for each index of
/// `dimensions`, the outer dimensions of a tile, at most kParams. The first one is entry `at` of
/// its tensor.
void gather_scales(const Plan& plan, const Buffers& buffers, Dimensions dimensions,
                   const Tile& tile, int64_t at, float* out) noexcept;
void gather_zeros(const Plan& plan, const Buffers& buffers, const Helpers& helpers,
                  Dimensions dimensions, const Tile& tile, int64_t at, int32_t* out) noexcept;

/// The same for each pair of indices of two dimensions, `inner` innermost, at most kParams: scales
/// as float32 by &Dimension::scale, zero points as int32 by &Dimension::zero_point. Where
/// neighbours along `outer` are neighbours in memory, they are loaded in that order to `scratch`,
/// which has as many bytes as `out`, and transposed.
void gather_matrix(const Plan& plan, const Buffers& buffers, const Table& table,
                   const Dimension& outer, const Dimension& inner, int64_t Dimension::*stride,
                   int64_t at, uint8_t* scratch, void* out) noexcept;

}  // namespace dequant
