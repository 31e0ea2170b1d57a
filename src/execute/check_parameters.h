// What run() demands of the zero points and the Parameters of a plan.
#pragma once

#include <bit>

#include "dequant/plan.h"

namespace dequant {

/// Refuses an implicit zero point that x cannot have.
Status check_implicit_zero_point(const Plan& plan);

/// Refuses Parameters that break a rule of include/dequant/parameters.h.
Status check_parameters(const Plan& plan);

/// Refuses sizes of a plan of blocks, of `count` elements, that do not make whole blocks, or more
/// bytes than 64 bits count.
Status check_block_sizes(const Plan& plan, int64_t count);

/// 0 if results have no factor. Of bits, as the caller's floating-point state may have a trap for
/// operations on subnormal numbers.
inline int32_t factor_bits(float result_factor) noexcept {
  return std::bit_cast<int32_t>(result_factor) ^ std::bit_cast<int32_t>(1.0F);
}

/// True if all parameters have their defaults. Few instructions: run() asks this for every small
/// tensor. It names every field, so that a new one does not compile before it is here;
/// check_parameters.cc has what it demands.
inline bool are_defaults(const Parameters& p) noexcept {
  const auto& [tensor_scale, infinite_e8m0, reciprocal_scale, zero_point, offset, overflow, index,
               role, scale_rounding, result_rounding, result_factor, codebook, x, zero, x_blocks] =
      p;
  const auto& [groups, index_scale, index_zero] = index;
  const auto& [x_order, x_bits, x_row, x_columns] = x;
  const auto& [zero_order, zero_bits, zero_row, zero_columns] = zero;
  const int64_t wide =
      groups | index_scale | index_zero | x_row | x_columns | zero_row | zero_columns;
  const int32_t numbers = offset | static_cast<int32_t>(x_order) | x_bits |
                          static_cast<int32_t>(zero_order) | zero_bits | factor_bits(result_factor);
  const auto small = static_cast<uint8_t>(
      static_cast<int>(tensor_scale) | static_cast<int>(overflow) | static_cast<int>(role) |
      int{infinite_e8m0} | int{reciprocal_scale} | int{codebook} | int{zero_point.has_value()} |
      int{scale_rounding.has_value()} | int{result_rounding.has_value()} |
      int{x_blocks.has_value()});
  return (wide | numbers | small) == 0;
}

}  // namespace dequant
