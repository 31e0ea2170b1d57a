// Gathering what lies apart: the codes, scales and zero points of a box of a strided plan put next to each
// other, and results put in their places.
#pragma once

#include <cstdint>

#include "execute/odometer.h"
#include "kernel/row.h"

namespace dequant {

/// Elements of the largest box that is gathered.
inline constexpr int64_t kTile = 1024;

/// Where the elements of a box lie in x or in y: rows of neighbours, and how far each lies from the first.
/// It serves every box of the same dimensions that is not longer.
class RowPlaces {
 public:
  /// Rows are what lies together; if they are to be of one dimension at least, its elements may lie apart.
  void set(Dimensions dimensions, int64_t Dimension::*stride, const Box& box,
           bool of_dimensions) noexcept;

  int64_t row(const Box& box) const noexcept { return std::min(row_, box.elements); }
  int64_t rows(const Box& box) const noexcept { return whole_ ? 1 : box.count * per_index_; }
  /// True if all of the box lies together.
  bool together(const Box& box) const noexcept { return step_ == 1 && row_ >= box.elements; }
  /// From one element of a row to the next.
  int64_t step() const noexcept { return step_; }
  /// The second row from the first.
  int64_t apart() const noexcept { return apart_; }
  int64_t operator[](int64_t row) const noexcept { return at_[row]; }
  /// True if every row starts on a multiple of so many elements, a power of two, where the first one does.
  bool all_on(int64_t multiple) const noexcept { return (any_ & (multiple - 1)) == 0; }

 private:
  bool whole_ = false;     ///< a box is one row
  int64_t per_index_ = 1;  ///< rows of an index of the outermost dimension
  int64_t row_ = 0;
  int64_t step_ = 1;
  int64_t any_ = 0;
  int64_t apart_ = 0;
  int64_t at_[kTile];
};

/// Codes of a box that starts at element `at` of x, one after another: as they are stored, which needs rows
/// of whole bytes on bytes, or as those of unpacked(x). Asks for those of the next box meanwhile.
void gather_codes(const std::byte* x, int64_t at, int64_t next, int64_t width,
                  const RowPlaces& places, const Box& box, uint8_t* out) noexcept;
void gather_unpacked(Element x, const std::byte* data, int64_t at, int64_t next,
                     const RowPlaces& places, const Box& box, uint8_t* out) noexcept;

/// Results of a box, of so many bytes, from one after another to their places from y on.
void scatter_results(const uint8_t* results, int64_t size, const RowPlaces& places, const Box& box,
                     uint8_t* y) noexcept;

/// Scales as float32 and zero points as int32, from an index of the tensor on: one for each index of the
/// dimensions of a box, of which inner ones may be left out. At most kSides; zero points of integers.
inline constexpr int64_t kSides = 4096;
void gather_scales(const Plan& plan, const Buffers& buffers, Dimensions dimensions, const Box& box,
                   int64_t at, float* out) noexcept;
void gather_zeros(const Plan& plan, const Buffers& buffers, const Moves& moves,
                  Dimensions dimensions, const Box& box, int64_t at, int32_t* out) noexcept;

}  // namespace dequant
