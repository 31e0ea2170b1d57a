// A FastPlan while its steps, kind and parameters are found.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "cuda/plan/fast_plan.h"
#include "cuda/plan/steps.h"
#include "cuda/plan/vector_size.h"

namespace dequant::cuda {

class FastDraft {
 protected:
  explicit FastDraft(const DevicePlan& p)
      : p_(p), count_(vector_elements(p.output)), y_bytes_(16 / count_) {}

  /// The innermost dimension in vectors, without x; none if vectors would have several parameters,
  /// or y has no vectors.
  std::optional<Step> inner_step();

  /// Steps for all other dimensions, outside of those there are, of the fast elements. The strides
  /// of x are what `x` makes of strides in codes. False if it makes nothing of one, or strides are
  /// too large.
  bool add_outer_steps(const std::function<std::optional<int64_t>(int64_t)>& x);

  /// What scales multiply. False if no fast kernel computes it.
  bool set_kind();

  /// How parameters are stored. False if no fast kernel reads the floats among them; integer zero
  /// points may be FastParam::none.
  bool set_params();

  /// True if the parameters, or ranges, of a vector's elements can be loaded as vectors, too.
  bool has_params_of_each() const;

  /// The FastPlan of the steps; none if threads, parameters or steps are too many.
  std::optional<FastPlan> finish();

  /// True if strides are so small that no product with a size overflows.
  static bool is_modest(int64_t bytes) {
    constexpr int64_t kMost = int64_t{1} << 55;
    return bytes >= -kMost && bytes <= kMost;
  }

  const DevicePlan& p_;
  int64_t count_;    ///< elements of a vector
  int64_t y_bytes_;  ///< of an element
  Steps steps_;      ///< outermost first
  FastPlan f_;
  bool unpacks_ = false;  ///< f_.layout has the codes, of any width
  int64_t first_x_ = 0;   ///< of the first vector: bytes beyond f_.x, or codes

 private:
  bool set_float();

  /// True if the ranges of a vector's elements can be loaded as vectors.
  bool has_ranges_of_each() const;

  /// True if vectors begin at `origin` and at all multiples of a stride, and are aligned there.
  bool are_vectors(const Codes& codes, int64_t origin, int64_t Step::*stride) const;

  /// True if zero points are rows of words, for FastParam::packed.
  bool has_packed_zeros();

  /// The first index becomes part of the addresses, where blocks do not need it.
  void take_first_indices();

  /// Indices of parameters fit in 31 bits.
  bool has_few_params() const;

  /// Indices of codes fit in 31 bits.
  bool has_few_codes() const;

  /// True if vectors can be counted in 31 bits.
  bool has_modest_steps() const;

  /// Finds vectors of a thread that have the same parameters.
  void share_params();
  /// So many of them, with at least `least_inner` threads side by side in the innermost step.
  bool share_params(int64_t units, int64_t least_inner);

  void count_vectors();

  /// The dimensions of all steps.
  void set_dimensions();

  int64_t first_group_ = 0;  ///< of the group index
  int64_t scale_origin_ = 0;
  int64_t zero_point_origin_ = 0;
};

}  // namespace dequant::cuda
