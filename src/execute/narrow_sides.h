// Sides that serve many rows, in 16 bits too where the target has rows that compute in them.
#pragma once

#include "execute/chunk.h"
#include "execute/side_row.h"

namespace dequant {

class NarrowSides {
 public:
  static constexpr int64_t kCapacity = 4096;

  explicit NarrowSides(const Job& job) noexcept
      : narrow_(job.plan.scale == Element::float16 && job.plan.output == Element::float16 &&
                        bits(job.plan.input) <= 8
                    ? job.table.moves.narrow
                    : nullptr) {}

  /// The same sides, of `count` elements, at most kCapacity. What it adds stays until the next call.
  Sides of(Sides sides, int64_t count) noexcept {
    if (narrow_ == nullptr || !sides.plain || sides.offset != nullptr) return sides;
    narrow_(sides.scale, sides.zero, static_cast<size_t>(count), scale16_, zero16_);
    sides.scale16 = scale16_;
    sides.zero16 = zero16_;
    return sides;
  }

 private:
  decltype(Moves::narrow) narrow_;
  alignas(64) uint16_t scale16_[kCapacity + Moves::kNarrowSlack];
  alignas(64) int16_t zero16_[kCapacity + Moves::kNarrowSlack];
};

}  // namespace dequant
