// A window of scales and zero points in the form the kernels take: float32 and int32, whatever they
// are stored as; and of ranges, as scales and offsets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dequant/plan.h"
#include "execute/parameters.h"
#include "kernel/kernel.h"

namespace dequant {

/// Scales, zero points and, of rules that add one, offsets of neighbours.
struct Params {
  const float* scale;  ///< this and the next may be null where scale16 is not
  const int32_t* zero;
  const float* offset;
  bool finite_normal;                 ///< is_finite_normal() of all scales and offsets
  const uint16_t* scale16 = nullptr;  ///< both or none: what Helpers::narrow makes of them
  const int16_t* zero16 = nullptr;
};

/// Those of the elements from the `by`th on.
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

  /// `first` is the index of the first scale that the buffers hold.
  ParamWindow(const Plan& plan, const Buffers& buffers, const Helpers& helpers,
              int64_t first) noexcept;

  /// The parameters from `begin` on, count <= kCapacity of them, until the next call. Keeps what is
  /// there already.
  Params load(int64_t begin, int64_t count) noexcept;

  /// The same for elements that each have their own, in 16 bits alone where kernels take them so:
  /// stored scales where they are.
  Params load_per_element(int64_t begin, int64_t count) noexcept;

  /// Prefetches the stored parameters that are loaded next, `count` of them from `begin` on, as far
  /// as there are any. Inlined, or the compiler takes it for a function without effects and leaves
  /// it out.
  [[gnu::always_inline]] void fetch(int64_t begin, int64_t count) const noexcept {
    for (const Stored& param : stored_) {
      const int64_t end = std::min((begin - first_ + count) * param.bits / 8, param.bytes);
      for (int64_t at = (begin - first_) * param.bits / 8; at < end;
           at += static_cast<int64_t>(kCacheLine)) {
        __builtin_prefetch(param.data + at);
      }
    }
  }

  /// True if all zero points are the same, whatever is loaded.
  bool constant_zeros() const noexcept { return constant_zeros_; }

 private:
  /// Where parameters are read from: scales and zero points, or both ends of ranges. No bytes:
  /// nowhere.
  struct Stored {
    const std::byte* data;
    int64_t bytes;
    int64_t bits;  ///< of each
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
  bool in_place_;          ///< scales are used where they are
  bool constant_zeros_;    ///< the same for all elements
  int64_t zeros_set_ = 0;  ///< how many of these there are
  int64_t zeros16_set_ = 0;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  bool finite_normal_ = false;
  const float* scales_ = nullptr;  ///< that of begin_
  alignas(64) float scale_[kCapacity];
  alignas(64) int32_t zero_[kCapacity];
  alignas(64) float offset_[kCapacity];
  alignas(64) int16_t zero16_[kCapacity + Helpers::kNarrowSlack];
};

}  // namespace dequant
