// The codebook of a call, as kernels take it.
#pragma once

#include <cstdint>
#include <cstring>

#include "dequant/plan.h"
#include "kernel/kernel.h"

namespace dequant {

class Codebook {
 public:
  /// Copies the values of a plan with a codebook.
  void load(const Plan& plan, const Buffers& buffers) noexcept {
    const size_t count = size_t{1} << code_bits(plan);
    is_small_ = count <= Table::kSmallCodebook;
    if (is_small_) std::memset(values_, 0, Table::kSmallCodebook * sizeof *values_);
    std::memcpy(values_, buffers.codebook.data(), count * sizeof *values_);
    finite_normal_ = true;
    for (size_t i = 0; i < count; ++i) {
      finite_normal_ = finite_normal_ && is_finite_normal_value(values_[i]);
    }
  }

  const float* values() const noexcept { return values_; }
  /// True if the kernels for small codebooks take it.
  bool is_small() const noexcept { return is_small_; }
  /// True if no product of a value and a scale that is_finite_normal() is subnormal or NaN.
  bool finite_normal() const noexcept { return finite_normal_; }

 private:
  bool is_small_ = true;
  bool finite_normal_ = false;
  alignas(64) float values_[Table::kCodebook];
};

}  // namespace dequant
