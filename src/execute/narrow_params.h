// Parameters narrowed to 16 bits, for targets whose kernels compute in float16. Narrowing pays
// where many rows use the same parameters.
#pragma once

#include "execute/chunk.h"
#include "execute/param_window.h"

namespace dequant {

class NarrowParams {
 public:
  static constexpr int64_t kCapacity = 4096;

  explicit NarrowParams(const Job& job) noexcept
      : narrow_(job.plan.scale == Element::float16 && job.plan.output == Element::float16 &&
                        bits(job.plan.input) <= 8 && scales_are_stored(job.plan) &&
                        has_plain_kernels(job.plan)
                    ? job.table.helpers.narrow
                    : nullptr) {}

  /// `params` of `count` <= kCapacity elements, with scale16 and zero16 added where the kernels of
  /// the job take them; valid until the next call.
  Params of(Params params, int64_t count) noexcept {
    if (narrow_ == nullptr || !params.finite_normal || params.offset != nullptr) return params;
    narrow_(params.scale, params.zero, static_cast<size_t>(count), scale16_, zero16_);
    params.scale16 = scale16_;
    params.zero16 = zero16_;
    return params;
  }

 private:
  decltype(Helpers::narrow) narrow_;
  alignas(64) uint16_t scale16_[kCapacity + Helpers::kNarrowSlack];
  alignas(64) int16_t zero16_[kCapacity + Helpers::kNarrowSlack];
};

}  // namespace dequant
