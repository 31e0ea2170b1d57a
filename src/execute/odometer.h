// Walking the elements of a strided plan without computing an index for any of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "checked.h"
#include "dequant/plan.h"

namespace dequant {

/// Of a walk: a dimension of the plan may be cut in two.
inline constexpr size_t kMostDimensions = kMaxDimensions + 1;

/// Outermost first, at least one.
using Dimensions = std::span<const Dimension>;

/// Where one element lies in each tensor, in elements from the start of its buffer.
struct Place {
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;

  void step(const Dimension& d, int64_t count) noexcept {
    x += d.x * count;
    scale += d.scale * count;
    zero_point += d.zero_point * count;
    y += d.y * count;
  }
};

/// Elements that follow one another in row-major order: so many indices of a dimension, and all of those
/// inside it.
struct Box {
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
  Odometer(Dimensions dimensions, Place origin, int64_t element) noexcept
      : dimensions_(dimensions), place_(origin) {
    for (size_t i = dimensions.size(); i-- > 0;) {
      index_[i] = element % dimensions[i].size;
      element /= dimensions[i].size;
      place_.step(dimensions[i], index_[i]);
    }
  }

  const Place& place() const noexcept { return place_; }

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

  /// The largest box from here on that has at most so many elements. Where a dimension is too long, its
  /// boxes are about equal.
  Box largest_box(int64_t most) const noexcept {
    size_t i = dimensions_.size() - 1;
    int64_t inside = 1;
    for (; i > 0 && index_[i] == 0 && inside * dimensions_[i].size <= most; --i) {
      inside *= dimensions_[i].size;
    }
    const int64_t limit = most / inside;
    const int64_t boxes = ceil_div(left(i), limit);
    int64_t count = ceil_div(left(i), boxes);
    if (inside == 1) count = std::min({ceil_div(count, kAligned) * kAligned, limit, left(i)});
    return {i, count, count * inside};
  }

  /// Goes on by count <= left(i) indices of a dimension; those inside it stand at their first.
  void advance(size_t i, int64_t count) noexcept {
    index_[i] += count;
    place_.step(dimensions_[i], count);
    while (index_[i] == dimensions_[i].size && i > 0) {
      place_.step(dimensions_[i], -index_[i]);
      index_[i] = 0;
      --i;
      ++index_[i];
      place_.step(dimensions_[i], 1);
    }
  }

 private:
  /// Pieces of a long dimension start on a byte and a line if the dimension does.
  static constexpr int64_t kAligned = 64;

  Dimensions dimensions_;
  std::array<int64_t, kMostDimensions> index_{};
  Place place_;
};

}  // namespace dequant
