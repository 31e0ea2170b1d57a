// A window of scales and zero points in the form the kernels take: float32 and int32, whatever they
// are stored as; and of ranges, as scales and offsets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dequant/plan.h"
#include "kernel/row.h"

namespace dequant {

/// Scales, zero points and, of rules that add one, offsets of neighbours.
struct Sides {
  const float* scale;  ///< this and the next may be null where scale16 is not
  const int32_t* zero;
  const float* offset;
  bool plain;                         ///< is_plain() of all scales and offsets
  const uint16_t* scale16 = nullptr;  ///< both or none: what Moves::narrow makes of them
  const int16_t* zero16 = nullptr;
};

/// Those of the elements from the `by`th on.
inline Sides advanced(Sides sides, int64_t by) {
  if (sides.scale != nullptr) sides.scale += by, sides.zero += by;
  if (sides.offset != nullptr) sides.offset += by;
  if (sides.scale16 != nullptr) sides.scale16 += by, sides.zero16 += by;
  return sides;
}

/// `count` scales as float32, the first at index i, the others `stride` apart.
void load_scales(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                 float* out) noexcept;

/// The same for zero points; where there are none, the plan's implicit one. Of uint32: bit patterns.
void load_zeros(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                int32_t* out) noexcept;

class SideRow {
 public:
  /// Entries of a window; the window lives on the stack.
  static constexpr int64_t kCapacity = 4096;

  /// `first` is the index of the first scale that the buffers hold.
  SideRow(const Plan& plan, const Buffers& buffers, const Moves& moves, int64_t first) noexcept;

  /// The sides from `begin` on, count <= kCapacity of them, until the next call. Keeps what is there
  /// already.
  Sides load(int64_t begin, int64_t count) noexcept;

  /// The same for elements that each have their own, in 16 bits alone where rows take them so: stored scales
  /// where they are.
  Sides load_varying(int64_t begin, int64_t count) noexcept;

  /// Asks for the stored sides that are loaded next, `count` of them from `begin` on, as far as there are any.
  /// Inlined, or the compiler takes it for a function without effects and leaves it out.
  [[gnu::always_inline]] void fetch(int64_t begin, int64_t count) const noexcept {
    for (const Stored& side : stored_) {
      const int64_t end = std::min((begin - first_ + count) * side.bits / 8, side.bytes);
      for (int64_t at = (begin - first_) * side.bits / 8; at < end;
           at += static_cast<int64_t>(kLine)) {
        __builtin_prefetch(side.data + at);
      }
    }
  }

  /// True if all zero points are the same, whatever is loaded.
  bool constant_zeros() const noexcept { return constant_zeros_; }

 private:
  /// Where sides are read from: scales and zero points, or both ends of ranges. No bytes: nowhere.
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
  const Moves& moves_;
  int64_t first_;
  std::array<Stored, 2> stored_;
  bool in_place_;          ///< scales are used where they are
  bool constant_zeros_;    ///< the same for all elements
  int64_t zeros_set_ = 0;  ///< how many of these there are
  int64_t zeros16_set_ = 0;
  int64_t begin_ = 0;
  int64_t end_ = 0;
  bool plain_ = false;
  const float* scales_ = nullptr;  ///< that of begin_
  alignas(64) float scale_[kCapacity];
  alignas(64) int32_t zero_[kCapacity];
  alignas(64) float offset_[kCapacity];
  alignas(64) int16_t zero16_[kCapacity + Moves::kNarrowSlack];
};

}  // namespace dequant
