// Which scale each element of a range uses, as a short list of scale spans.
//
// The tensor is a sequence of rows. Scales follow one another along a row: one for each group of
// elements or, where the table has "-", one for each element.
//
//   granularity                 row           group   first scale of row r
//   per tensor                  all           row     0
//   per axis, axis = 1          all           row     0
//   per axis, inner > 1         axis * inner  inner   0
//   per axis, inner = 1         axis          -       0
//   blocked, block or axis = 1  all           -       0
//   blocked, inner = 1, whole   all           block   0
//   blocked, inner = 1          axis          block   r * ceil(axis / block)
//   blocked, inner > 1          inner         -       blocks(r) * inner
//
//   with blocks(r) = r / axis * ceil(axis / block) + r % axis / block
//
// "whole" means that the block size divides the axis: then scales follow one another over all rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "checked.h"
#include "dequant/plan.h"

namespace dequant {

/// `count` elements from `begin` on. With group = 0 element begin + i uses scale number scale + i.
/// Otherwise the first `group` elements use scale number `scale`, the next `group` elements the
/// next scale, and so on; the last group may be short.
struct ScaleSpan {
  int64_t begin;
  int64_t count;
  int64_t scale;
  int64_t group;

  friend bool operator==(const ScaleSpan&, const ScaleSpan&) = default;
};

struct Layout {
  int64_t row = 1;                ///< elements of a row, at least 1
  int64_t group = 0;              ///< elements that share a scale; 0: each element has its own
  bool rows_share_scales = true;  ///< every row starts at scale 0
  int64_t axis = 1;  ///< this and the next two: the sizes of a blocked plan, for row_scale()
  int64_t block = 1;
  int64_t inner = 1;

  /// The first scale of a row.
  int64_t row_scale(int64_t r) const noexcept {
    if (rows_share_scales) return 0;
    const int64_t blocks = ceil_div(axis, block);
    return inner == 1 ? r * blocks : (r / axis * blocks + r % axis / block) * inner;
  }

  /// The scale of an element.
  int64_t scale_at(int64_t element) const noexcept {
    const int64_t within = element % row;
    return row_scale(element / row) + (group == 0 ? within : within / group);
  }
};

inline Layout layout_of(const Plan& plan) noexcept {
  Layout layout;
  const int64_t all = plan.outer * plan.axis * plan.inner;
  switch (plan.granularity) {
    case Granularity::per_tensor: layout.row = layout.group = all; break;
    case Granularity::per_axis:
      layout.row = plan.axis == 1 ? all : plan.axis * plan.inner;
      layout.group = plan.axis == 1 ? all : plan.inner == 1 ? 0 : plan.inner;
      break;
    case Granularity::blocked:
      if (plan.block == 1 || plan.axis == 1) {
        layout.row = all;
        break;
      }
      if (plan.inner == 1 && plan.block < plan.axis && plan.axis % plan.block == 0) {
        layout.row = all;
        layout.group = plan.block;
        break;
      }
      layout.rows_share_scales = false;
      layout.axis = std::max<int64_t>(plan.axis, 1);
      layout.block = plan.block;
      layout.inner = plan.inner;
      layout.row = plan.inner == 1 ? plan.axis : plan.inner;
      layout.group = plan.inner == 1 && plan.block > 1 ? plan.block : 0;
      break;
    case Granularity::strided: break;  // has no rows: src/execute/strided.cc
  }
  layout.row = std::max<int64_t>(layout.row, 1);
  return layout;
}

/// Calls visit(ScaleSpan) for consecutive scale spans that cover [begin, end) in order.
template <class Visit>
void for_each_scale_span(const Layout& layout, int64_t begin, int64_t end, Visit&& visit) {
  while (begin < end) {
    // A division takes as long as a small tensor, and most plans have one row.
    const int64_t r = begin < layout.row ? 0 : begin / layout.row;
    const int64_t within = begin - r * layout.row;
    const int64_t scale = layout.row_scale(r);
    int64_t count = std::min(end - begin, layout.row - within);
    if (layout.group == 0) {
      visit(ScaleSpan{begin, count, scale + within, 0});
    } else {
      // A range that starts inside a group: the rest of the group is a span of its own, so that the
      // next span starts with a whole group.
      const int64_t before = within < layout.group ? 0 : within / layout.group;
      const int64_t into = within - before * layout.group;
      if (into != 0) count = std::min(count, layout.group - into);
      visit(ScaleSpan{begin, count, scale + before, layout.group});
    }
    begin += count;
  }
}

}  // namespace dequant
