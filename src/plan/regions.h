// A strided plan, or a range of its elements, as regions: all indices of some dimensions from an
// offset on. A range that starts or ends within a row is up to two regions more for each dimension.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/plan.h"

namespace dequant {

/// Where one element lies in each tensor, in elements from the start of its buffer.
struct Offsets {
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;
  int64_t group_index = 0;

  void step(const Dimension& d, int64_t count) noexcept {
    x += d.x * count;
    scale += d.scale * count;
    zero_point += d.zero_point * count;
    y += d.y * count;
    group_index += d.group_index * count;
  }
};

/// Every combination of the indices of these dimensions, outermost first; none of them has one
/// index only, or blocks. `origin` is where the element of index 0 everywhere lies.
struct Region {
  std::array<Dimension, kMaxDimensions> list;
  size_t rank = 0;
  Offsets origin;

  std::span<const Dimension> dimensions() const noexcept { return {list.data(), rank}; }
  int64_t elements() const noexcept;
};

/// Where the element of index 0 everywhere of a strided plan lies in buffers that hold all.
Offsets origin_of(const Plan& plan) noexcept;

/// Consecutive indices of one dimension, at least one.
struct Indices {
  int64_t first;
  int64_t count;
};

/// One entry for each dimension of a plan.
using Span = std::array<Indices, kMaxDimensions>;

/// Cuts elements of a strided plan, counted row-major over its dimensions, into spans of indices.
class Spans {
 public:
  Spans(const Plan& plan, Range elements) noexcept;

  /// Calls visit(const Span&) for spans that together have each element once, in order.
  template <class Visit>
  void for_each(Visit&& visit) {
    if (!empty_) cut(0, true, true, visit);
  }

 private:
  /// True if all indices from dimension d on stand at their first or at their last.
  bool starts_at(size_t d) const noexcept;
  bool ends_at(size_t d) const noexcept;

  /// The elements whose indices before d are those of span_, not before first_ and not after last_
  /// where those bound them.
  template <class Visit>
  void cut(size_t d, bool from_first, bool to_last, Visit& visit) {
    from_first = from_first && !starts_at(d);
    to_last = to_last && !ends_at(d);
    if (!from_first && !to_last) return visit_whole(d, visit);
    int64_t low = from_first ? first_[d] : 0;
    int64_t high = to_last ? last_[d] : dimensions_[d].size - 1;
    const auto at = [&](int64_t index, bool from, bool to) {
      span_[d] = {index, 1};
      cut(d + 1, from, to, visit);
    };
    if (low == high) return at(low, from_first, to_last);
    const bool head = from_first && !starts_at(d + 1);
    const bool tail = to_last && !ends_at(d + 1);
    if (head) at(low++, true, false);
    const int64_t whole = high - low + (tail ? 0 : 1);
    if (whole > 0) {
      span_[d] = {low, whole};
      visit_whole(d + 1, visit);
    }
    if (tail) at(high, false, true);
  }

  template <class Visit>
  void visit_whole(size_t d, Visit& visit) {
    for (; d < dimensions_.size(); ++d) span_[d] = {0, dimensions_[d].size};
    visit(static_cast<const Span&>(span_));
  }

  std::span<const Dimension> dimensions_;
  bool empty_;
  std::array<int64_t, kMaxDimensions> first_{};
  std::array<int64_t, kMaxDimensions> last_{};
  Span span_{};
};

/// The regions of a span of indices: one, or where it cuts a block of a dimension, or that has a
/// short last one, up to three for each such dimension: what is left of a block, whole blocks, and
/// a part of the last. The first has whole blocks, as far as there are any.
class Regions {
 public:
  /// `start` is where the element of index 0 of the plan lies.
  Regions(const Plan& plan, const Span& span, Offsets start) noexcept;

  size_t count() const noexcept { return count_; }
  Region operator[](size_t i) const noexcept;

 private:
  /// Whole blocks, or indices where there are no blocks; what is before them, and behind.
  struct Cut {
    std::array<Indices, 3> parts;
    size_t count;
  };
  static Cut cut(const Dimension& d, Indices indices) noexcept;

  std::span<const Dimension> dimensions_;
  Offsets start_;
  std::array<Cut, kMaxDimensions> cuts_;
  size_t count_ = 1;
};

/// The first region of all elements of a strided plan, in buffers that hold all.
Region first_region(const Plan& plan) noexcept;

}  // namespace dequant
