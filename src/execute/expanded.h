// Tiles with a side for each element, where runs or rows are too short for a call each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "execute/side_row.h"
#include "kernel/row.h"
#include "plan/runs.h"

namespace dequant {

class Expanded {
 public:
  /// Elements of the largest tile.
  static constexpr int64_t kCapacity = 2048;

  Expanded(const Layout& layout, const Moves& moves, SideRow& side) noexcept
      : layout_(layout), moves_(moves), side_(side) {}

  /// The sides of `count` elements from `begin` on, until the next call; count <= kCapacity.
  Sides of(int64_t begin, int64_t count) noexcept;

  /// The same where all rows share their sides.
  Sides of_equal_rows(int64_t begin, int64_t count) noexcept;

 private:
  void put_runs(int64_t begin, int64_t count) noexcept;
  void put_rows_of_blocks(int64_t begin, int64_t count) noexcept;
  void put(int64_t scale, int64_t run, int64_t into, int64_t count, int64_t at) noexcept;
  void echo(int64_t at, int64_t period, int64_t count) noexcept;
  Sides sides() const noexcept;

  const Layout& layout_;
  const Moves& moves_;
  SideRow& side_;
  bool plain_ = true;
  bool zeros_set_ = false;  ///< all of them, which are the same
  bool adds_ = false;
  alignas(64) float scale_[kCapacity + Moves::kSlack];
  alignas(64) int32_t zero_[kCapacity + Moves::kSlack];
  alignas(64) float offset_[kCapacity + Moves::kSlack];
};

}  // namespace dequant
