// Cuts a strided plan, or a range of its elements, into regions: all indices of some dimensions
// from an offset on. A range that starts or ends within a row has up to two regions more for each
// dimension.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dequant/plan.h"

namespace dequant {

/// The position of one element in each tensor, in elements from the start of the tensor's buffer.
struct Offsets {
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;
  int64_t group_index = 0;

  /// Moves by `count` indices of a dimension.
  void step(const Dimension& d, int64_t count) noexcept {
    x += d.x * count;
    scale += d.scale * count;
    zero_point += d.zero_point * count;
    y += d.y * count;
    group_index += d.group_index * count;
  }
};

/// Every combination of the indices of `rank` dimensions, outermost first. Each dimension has two
/// indices or more and no blocks. `origin` is the position of the element whose indices are all 0.
struct Region {
  std::array<Dimension, kMaxDimensions> list;
  size_t rank = 0;
  Offsets origin;

  std::span<const Dimension> dimensions() const noexcept { return {list.data(), rank}; }
  int64_t elements() const noexcept;
};

/// The position of a strided plan's element whose indices are all 0, in buffers that hold all
/// elements.
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

  /// Calls visit(const Span&) for spans that together hold each element of the range once, in
  /// order.
  template <class Visit>
  void for_each(Visit&& visit) {
    if (!empty_) cut(0, true, true, visit);
  }

 private:
  /// True if in every dimension from d on the range starts at the first index, or ends at the last.
  bool starts_at(size_t d) const noexcept;
  bool ends_at(size_t d) const noexcept;

  /// Visits the elements whose indices in the dimensions before d are those of span_: from first_
  /// on if from_first, and up to last_ if to_last.
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

/// The regions of a span. In a dimension whose span cuts a block or has a short last block, the
/// indices are cut into up to three parts: whole blocks, indices before them, indices after them.
/// The regions are all combinations of the parts of the dimensions. Region 0 has the whole blocks
/// of every dimension that has any.
class Regions {
 public:
  /// `start` is the position of the plan's element whose indices are all 0.
  Regions(const Plan& plan, const Span& span, Offsets start) noexcept;

  size_t count() const noexcept { return count_; }
  Region operator[](size_t i) const noexcept;

 private:
  /// The parts of a dimension, without empty ones: the whole blocks (without blocks: all indices),
  /// the indices before them, the indices after them.
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

/// Region 0 of all elements of a strided plan that has any, in buffers that hold all elements.
Region first_region(const Plan& plan) noexcept;

}  // namespace dequant
