// Parameters expanded to one scale and zero point for each element of a tile, where groups or rows
// are too short for a kernel call each.
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

  ExpandedParams(const Layout& layout, const Helpers& helpers, ParamWindow& window) noexcept
      : layout_(layout), helpers_(helpers), window_(window) {}

  /// The parameters of `count` elements of the tensor from element `begin` on, count <= kCapacity;
  /// valid until the next call.
  Params of(int64_t begin, int64_t count) noexcept;

  /// of() where all rows share their parameters.
  Params of_equal_rows(int64_t begin, int64_t count) noexcept;

 private:
  void put_groups(int64_t begin, int64_t count) noexcept;
  void put_rows_of_blocks(int64_t begin, int64_t count) noexcept;
  void put(int64_t scale, int64_t group, int64_t into, int64_t count, int64_t at) noexcept;
  void repeat_from(int64_t at, int64_t period, int64_t count) noexcept;
  Params params() const noexcept;

  const Layout& layout_;
  const Helpers& helpers_;
  ParamWindow& window_;
  bool finite_normal_ = true;
  bool zeros_set_ = false;  ///< all of zero_ holds the constant zero point
  bool adds_ = false;
  alignas(64) float scale_[kCapacity + Helpers::kSlack];
  alignas(64) int32_t zero_[kCapacity + Helpers::kSlack];
  alignas(64) float offset_[kCapacity + Helpers::kSlack];
};

}  // namespace dequant
