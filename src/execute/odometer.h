// The position in a strided plan: the index in each dimension and the offsets of all tensors,
// advanced together without a division.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "checked.h"
#include "dequant/plan.h"
#include "plan/regions.h"

namespace dequant {

/// Most dimensions of a loop order, which may cut one dimension of the plan in two.
inline constexpr size_t kMostDimensions = kMaxDimensions + 1;

/// The dimensions of a loop order, outermost first; at least one.
using Dimensions = std::span<const Dimension>;

/// Consecutive elements in row-major order: `count` indices of the dimension `outermost`, and all
/// indices of the dimensions inside it.
struct Tile {
  size_t outermost;
  int64_t count;
  int64_t elements;

  /// Indices of dimension i >= outermost in the tile.
  int64_t size(Dimensions dimensions, size_t i) const noexcept {
    return i == outermost ? count : dimensions[i].size;
  }
};

class Odometer {
 public:
  /// Starts at an element, counted row-major over the dimensions. `origin` has the offsets of
  /// element 0.
  Odometer(Dimensions dimensions, Offsets origin, int64_t element) noexcept
      : dimensions_(dimensions), offsets_(origin) {
    for (size_t i = dimensions.size(); i-- > 0;) {
      index_[i] = element % dimensions[i].size;
      element /= dimensions[i].size;
      offsets_.step(dimensions[i], index_[i]);
    }
  }

  /// The offsets of the current element.
  const Offsets& offsets() const noexcept { return offsets_; }

  /// Indices of dimension i from the current one to the last.
  int64_t left(size_t i) const noexcept { return dimensions_[i].size - index_[i]; }

  /// True if the current index of every dimension inside dimension i is 0.
  bool at_start_of(size_t i) const noexcept {
    for (++i; i < dimensions_.size(); ++i) {
      if (index_[i] != 0) return false;
    }
    return true;
  }

  /// How many indices of dimension i the next `elements` elements cover as a whole; 0 if
  /// at_start_of(i) is false.
  int64_t whole(size_t i, int64_t elements) const noexcept {
    for (size_t k = dimensions_.size() - 1; k > i; --k) {
      if (index_[k] != 0) return 0;
      elements /= dimensions_[k].size;
    }
    return std::min(left(i), elements);
  }

  /// The largest tile from the current element on that has at most `most` elements. A dimension
  /// that is cut has tiles of about equal lengths.
  Tile largest_tile(int64_t most) const noexcept {
    size_t i = dimensions_.size() - 1;
    int64_t inside = 1;
    for (; i > 0 && index_[i] == 0 && inside * dimensions_[i].size <= most; --i) {
      inside *= dimensions_[i].size;
    }
    const int64_t limit = most / inside;
    const int64_t tiles = ceil_div(left(i), limit);
    int64_t count = ceil_div(left(i), tiles);
    if (inside == 1) count = std::min({ceil_div(count, kAligned) * kAligned, limit, left(i)});
    return {i, count, count * inside};
  }

  /// Advances by count <= left(i) indices of dimension i; demands at_start_of(i).
  void advance(size_t i, int64_t count) noexcept {
    // The end of a dimension: its index becomes 0, and the next dimension outside advances by 1.
    for (; i > 0 && index_[i] + count == dimensions_[i].size; --i, count = 1) {
      if (index_[i] != 0) offsets_.step(dimensions_[i], -index_[i]);
      index_[i] = 0;
    }
    index_[i] += count;
    offsets_.step(dimensions_[i], count);
  }

 private:
  /// Tiles that cut the innermost dimension have multiples of this length, so that all start on a
  /// byte of x and a cache line of y if the first does.
  static constexpr int64_t kAligned = 64;

  Dimensions dimensions_;
  std::array<int64_t, kMostDimensions> index_{};
  Offsets offsets_;
};

}  // namespace dequant
