// Tiles with parameters for each element, where groups or rows are too short for a call each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "execute/param_window.h"
#include "kernel/kernel.h"
#include "plan/scale_spans.h"

namespace dequant {

class ExpandedParams {
 public:
  /// Elements of the largest tile.
  static constexpr int64_t kCapacity = 2048;

  ExpandedParams(const Layout& layout, const Helpers& helpers, ParamWindow& param) noexcept
      : layout_(layout), helpers_(helpers), window_(param) {}

  /// The parameters of `count` elements from `begin` on, until the next call; count <= kCapacity.
  Params of(int64_t begin, int64_t count) noexcept;

  /// The same where all rows share their parameters.
  Params of_equal_rows(int64_t begin, int64_t count) noexcept;

 private:
  void put_groups(int64_t begin, int64_t count) noexcept;
  void put_rows_of_blocks(int64_t begin, int64_t count) noexcept;
  void put(int64_t scale, int64_t group, int64_t into, int64_t count, int64_t at) noexcept;
  void echo(int64_t at, int64_t period, int64_t count) noexcept;
  Params params() const noexcept;

  const Layout& layout_;
  const Helpers& helpers_;
  ParamWindow& window_;
  bool finite_normal_ = true;
  bool zeros_set_ = false;  ///< all of them, which are the same
  bool adds_ = false;
  alignas(64) float scale_[kCapacity + Helpers::kSlack];
  alignas(64) int32_t zero_[kCapacity + Helpers::kSlack];
  alignas(64) float offset_[kCapacity + Helpers::kSlack];
};

}  // namespace dequant
