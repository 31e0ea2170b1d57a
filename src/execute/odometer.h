// Visiting the elements of a strided plan without computing an index for any of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "checked.h"
#include "dequant/plan.h"
#include "plan/regions.h"

namespace dequant {

/// Of a loop order: a dimension of the plan may be cut in two.
inline constexpr size_t kMostDimensions = kMaxDimensions + 1;

/// Outermost first, at least one.
using Dimensions = std::span<const Dimension>;

/// Elements that follow one another in row-major order: so many indices of a dimension, and all of
/// those inside it.
struct Tile {
  size_t outermost;
  int64_t count;
  int64_t elements;

  /// Indices of one of its dimensions.
  int64_t size(Dimensions dimensions, size_t i) const noexcept {
    return i == outermost ? count : dimensions[i].size;
  }
};

class Odometer {
 public:
  /// Stands at an element, counted row-major over the dimensions.
  Odometer(Dimensions dimensions, Offsets origin, int64_t element) noexcept
      : dimensions_(dimensions), offsets_(origin) {
    for (size_t i = dimensions.size(); i-- > 0;) {
      index_[i] = element % dimensions[i].size;
      element /= dimensions[i].size;
      offsets_.step(dimensions[i], index_[i]);
    }
  }

  const Offsets& offsets() const noexcept { return offsets_; }

  /// Indices of a dimension from here to its end.
  int64_t left(size_t i) const noexcept { return dimensions_[i].size - index_[i]; }

  /// True if all dimensions inside this one stand at their first index.
  bool stands_at(size_t i) const noexcept {
    for (++i; i < dimensions_.size(); ++i) {
      if (index_[i] != 0) return false;
    }
    return true;
  }

  /// Whole indices of a dimension from here on among so many elements; 0 within an index.
  int64_t whole(size_t i, int64_t elements) const noexcept {
    for (size_t k = dimensions_.size() - 1; k > i; --k) {
      if (index_[k] != 0) return 0;
      elements /= dimensions_[k].size;
    }
    return std::min(left(i), elements);
  }

  /// The largest tile from here on that has at most so many elements. Where a dimension is too
  /// long, its tiles are about equal.
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

  /// Goes on by count <= left(i) indices of a dimension; those inside it stand at their first.
  void advance(size_t i, int64_t count) noexcept {
    // At the end of a dimension all goes back to its start and one index further outside.
    for (; i > 0 && index_[i] + count == dimensions_[i].size; --i, count = 1) {
      if (index_[i] != 0) offsets_.step(dimensions_[i], -index_[i]);
      index_[i] = 0;
    }
    index_[i] += count;
    offsets_.step(dimensions_[i], count);
  }

 private:
  /// Pieces of a long dimension start on a byte and a cache line if the dimension does.
  static constexpr int64_t kAligned = 64;

  Dimensions dimensions_;
  std::array<int64_t, kMostDimensions> index_{};
  Offsets offsets_;
};

}  // namespace dequant
