// A window of consecutive scales and zero points, converted to what kernels take: float32 and
// int32. Ranges become scales and offsets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dequant/plan.h"
#include "execute/parameters.h"
#include "kernel/kernel.h"

namespace dequant {

/// Quantization parameters of consecutive groups or elements, as arrays.
struct Params {
  const float* scale;  ///< scale and zero may be null where scale16 is not
  const int32_t* zero;
  const float* offset;  ///< null for rules that add no offset
  bool finite_normal;   ///< is_finite_normal() of all scales and offsets
  /// Stored float16 scales, or those of Helpers::narrow, and zero points as int16: both or neither.
  const uint16_t* scale16 = nullptr;
  const int16_t* zero16 = nullptr;
};

/// The same parameters without the first `by` entries.
inline Params advanced(Params params, int64_t by) {
  if (params.scale != nullptr) params.scale += by, params.zero += by;
  if (params.offset != nullptr) params.offset += by;
  if (params.scale16 != nullptr) params.scale16 += by, params.zero16 += by;
  return params;
}

class ParamWindow {
 public:
  /// Entries of a window; the window lives on the stack.
  static constexpr int64_t kCapacity = 4096;

  /// `first` is the index of the first scale, or range, in the buffers.
  ParamWindow(const Plan& plan, const Buffers& buffers, const Helpers& helpers,
              int64_t first) noexcept;

  /// The parameters with the indices from `begin` on, count <= kCapacity of them; valid until the
  /// next call. Converts nothing if the window holds all of them.
  Params load(int64_t begin, int64_t count) noexcept;

  /// load() for ScaleLayout::per_element. Where kernels take float16 scales, `scale16` are the
  /// stored scales themselves, and `scale` and `zero` are null.
  Params load_per_element(int64_t begin, int64_t count) noexcept;

  /// Prefetches stored parameters, `count` of them from index `begin` on, as far as the buffers
  /// have them. Always inlined: compilers remove calls of functions that only prefetch.
  [[gnu::always_inline]] void fetch(int64_t begin, int64_t count) const noexcept {
    for (const Stored& param : stored_) {
      const int64_t end = std::min((begin - first_ + count) * param.bits / 8, param.bytes);
      for (int64_t at = (begin - first_) * param.bits / 8; at < end;
           at += static_cast<int64_t>(kCacheLine)) {
        __builtin_prefetch(param.data + at);
      }
    }
  }

  /// True if the plan stores no zero points: all are one constant.
  bool constant_zeros() const noexcept { return constant_zeros_; }

 private:
  /// Stored scales, zero points, or ends of ranges; bytes is 0 where there are none.
  struct Stored {
    const std::byte* data;
    int64_t bytes;
    int64_t bits;  ///< of one
  };
  static std::array<Stored, 2> stored(const Plan& plan, const Buffers& buffers) noexcept;

  bool can_narrow(int64_t at, int64_t count) const noexcept;
  void load_ranges(int64_t count) noexcept;
  void load_zero_points(int64_t count) noexcept;

  const Plan& plan_;
  const Buffers& buffers_;
  const Helpers& helpers_;
  int64_t first_;
  std::array<Stored, 2> stored_;
  bool in_place_;       ///< stored scales are float32 on multiples of 4 bytes: not copied
  int64_t first_zero_;  ///< index of the first zero point in the buffer
  bool constant_zeros_;
  int64_t zeros_set_ = 0;    ///< entries of zero_ that hold the constant zero point
  int64_t zeros16_set_ = 0;  ///< the same for zero16_
  int64_t begin_ = 0;
  int64_t end_ = 0;
  bool finite_normal_ = false;
  const float* scales_ = nullptr;  ///< the scale of index begin_
  alignas(64) float scale_[kCapacity];
  alignas(64) int32_t zero_[kCapacity];
  alignas(64) float offset_[kCapacity];
  alignas(64) int16_t zero16_[kCapacity + Helpers::kNarrowSlack];
};

}  // namespace dequant
