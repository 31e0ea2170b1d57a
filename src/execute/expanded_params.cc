// Copying parameters of groups and of rows to each element of a tile.
#include "execute/expanded_params.h"

#include <algorithm>

#include "checked.h"

namespace dequant {

Params ExpandedParams::of(int64_t begin, int64_t count) noexcept {
  finite_normal_ = true;
  layout_.group == 0 ? put_rows_of_blocks(begin, count) : put_groups(begin, count);
  return params();
}

Params ExpandedParams::of_equal_rows(int64_t begin, int64_t count) noexcept {
  finite_normal_ = true;
  const int64_t row = std::min(layout_.row, count);
  put_groups(begin, row);
  repeat_from(0, row, count);
  return params();
}

Params ExpandedParams::params() const noexcept {
  return {scale_, zero_, adds_ ? offset_ : nullptr, finite_normal_};
}

/// The entries from `at` on: copies the first `period` of them until `count` are set.
void ExpandedParams::repeat_from(int64_t at, int64_t period, int64_t count) noexcept {
  for (int64_t done = period; done < count;) {
    const int64_t n = std::min(done, count - done);
    std::copy_n(scale_ + at, n, scale_ + at + done);
    if (!zeros_set_) std::copy_n(zero_ + at, n, zero_ + at + done);
    if (adds_) std::copy_n(offset_ + at, n, offset_ + at + done);
    done += n;
  }
}

/// Layouts of groups: the groups of each row.
void ExpandedParams::put_groups(int64_t begin, int64_t count) noexcept {
  const int64_t group = std::max<int64_t>(layout_.group, 1);
  for (int64_t done = 0; done < count;) {
    const int64_t r = (begin + done) / layout_.row;
    const int64_t within = begin + done - r * layout_.row;
    const int64_t before = within / group;
    const int64_t n = std::min(layout_.row - within, count - done);
    put(layout_.row_scale(r) + before, group, within - before * group, n, done);
    done += n;
  }
}

/// Layouts of one scale for each element of a row, which the rows of a block share.
void ExpandedParams::put_rows_of_blocks(int64_t begin, int64_t count) noexcept {
  const int64_t row = layout_.row;
  for (int64_t done = 0; done < count;) {
    const int64_t r = (begin + done) / row;
    const int64_t within = (begin + done) % row;
    const int64_t in_axis = r % layout_.axis;
    const int64_t rows = std::min(layout_.block - in_axis % layout_.block, layout_.axis - in_axis);
    const int64_t n = std::min(rows * row - within, count - done);
    // The rest of the row and, if more elements follow, the row's first elements.
    const int64_t rest = std::min(row - within, n);
    put(layout_.row_scale(r) + within, 1, 0, rest, done);
    if (n > rest) {
      put(layout_.row_scale(r), 1, 0, std::min(within, n - rest), done + rest);
      repeat_from(done, row, n);
    }
    done += n;
  }
}

/// Sets `count` entries from `at` on to the parameters from index `scale` on, each `group` times,
/// the first `into` times less.
void ExpandedParams::put(int64_t scale, int64_t group, int64_t into, int64_t count,
                         int64_t at) noexcept {
  const Params params = window_.load(scale, ceil_div(count + into, group));
  finite_normal_ = finite_normal_ && params.finite_normal;
  adds_ = params.offset != nullptr;
  if (window_.constant_zeros() && !zeros_set_) {
    std::fill_n(zero_, kCapacity, *params.zero);
    zeros_set_ = true;
  }
  Helpers::Spread spread[2];
  size_t how_many = 0;
  const auto add = [&](const auto* from, auto* to) {
    spread[how_many++] = {reinterpret_cast<const uint32_t*>(from),
                          reinterpret_cast<uint32_t*>(to + at)};
  };
  add(params.scale, scale_);
  // Rules that add an offset have a constant in place of zero points.
  if (!zeros_set_) add(params.zero, zero_);
  if (adds_) add(params.offset, offset_);
  if (group == 1) {
    for (size_t k = 0; k < how_many; ++k) std::copy_n(spread[k].values, count, spread[k].out);
    return;
  }
  helpers_.repeat(spread, how_many, static_cast<size_t>(group), static_cast<size_t>(into),
                  static_cast<size_t>(count));
}

}  // namespace dequant
