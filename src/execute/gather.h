// Gathering what lies apart: the codes, scales and zero points of a tile of a strided plan put next
// to each other, and results put in their places.
#pragma once

#include <cstdint>

#include "execute/odometer.h"
#include "kernel/kernel.h"

namespace dequant {

/// Elements of the largest tile that is gathered.
inline constexpr int64_t kTile = 1024;

/// Where the elements of a tile lie in x or in y: rows of neighbours, and how far each lies from
/// the first. It serves every tile of the same dimensions that is not longer.
class RowOffsets {
 public:
  /// Rows are what lies together; if they are to be of one dimension at least, its elements may lie
  /// apart.
  void set(Dimensions dimensions, int64_t Dimension::*stride, const Tile& tile,
           bool of_dimensions) noexcept;

  int64_t row(const Tile& tile) const noexcept { return std::min(row_, tile.elements); }
  int64_t rows(const Tile& tile) const noexcept { return whole_ ? 1 : tile.count * per_index_; }
  /// True if all of the tile lies together.
  bool together(const Tile& tile) const noexcept { return step_ == 1 && row_ >= tile.elements; }
  /// From one element of a row to the next.
  int64_t step() const noexcept { return step_; }
  /// The second row from the first.
  int64_t apart() const noexcept { return apart_; }
  int64_t operator[](int64_t row) const noexcept { return at_[row]; }
  /// True if every row starts on a multiple of so many elements, a power of two, where the first
  /// one does.
  bool all_on(int64_t multiple) const noexcept { return (any_ & (multiple - 1)) == 0; }

 private:
  bool whole_ = false;     ///< a tile is one row
  int64_t per_index_ = 1;  ///< rows of an index of the outermost dimension
  int64_t row_ = 0;
  int64_t step_ = 1;
  int64_t any_ = 0;
  int64_t apart_ = 0;
  int64_t at_[kTile];
};

/// Codes of a tile that starts at element `at` of x, one after another: as they are stored, which
/// needs rows of whole bytes on bytes, or as those of unpacked(x). Prefetches those of the next
/// tile meanwhile.
void gather_codes(const std::byte* x, int64_t at, int64_t next, int64_t width,
                  const RowOffsets& offsets, const Tile& tile, uint8_t* out) noexcept;
void gather_unpacked(Element x, const std::byte* data, int64_t at, int64_t next,
                     const RowOffsets& offsets, const Tile& tile, uint8_t* out) noexcept;

/// Results of a tile, of so many bytes, from one after another to their places from y on.
void scatter_results(const uint8_t* results, int64_t size, const RowOffsets& offsets,
                     const Tile& tile, uint8_t* y) noexcept;

/// Scales as float32 and zero points as int32, from an index of the tensor on: one for each index
/// of the dimensions of a tile, of which inner ones may be left out. At most kParams; zero points
/// of integers.
inline constexpr int64_t kParams = 4096;
void gather_scales(const Plan& plan, const Buffers& buffers, Dimensions dimensions,
                   const Tile& tile, int64_t at, float* out) noexcept;
void gather_zeros(const Plan& plan, const Buffers& buffers, const Helpers& helpers,
                  Dimensions dimensions, const Tile& tile, int64_t at, int32_t* out) noexcept;

}  // namespace dequant
