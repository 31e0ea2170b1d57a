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
inline int32_t factor_bits(const Parameters& p) noexcept {
  return std::bit_cast<int32_t>(p.result_factor) ^ std::bit_cast<int32_t>(1.0F);
}

/// True if all parameters have their defaults. Few instructions: run() asks this for every small
/// tensor.
inline bool are_defaults(const Parameters& p) noexcept {
  const GroupIndex& index = p.group_index;
  const Packing& x = p.x_packing;
  const Packing& zero = p.zero_point_packing;
  const int64_t wide =
      index.groups | index.scale | index.zero_point | x.row | x.columns | zero.row | zero.columns;
  const int32_t numbers = p.zero_point_offset | static_cast<int32_t>(x.order) | x.bits |
                          static_cast<int32_t>(zero.order) | zero.bits | factor_bits(p);
  const auto small = static_cast<uint8_t>(
      static_cast<int>(p.tensor_scale) | static_cast<int>(p.zero_point_overflow) |
      static_cast<int>(p.zero_point_role) | int{p.infinite_e8m0} | int{p.codebook} |
      int{p.zero_point.has_value()} | int{p.scale_rounding.has_value()} |
      int{p.result_rounding.has_value()} | int{p.x_blocks.has_value()});
  return (wide | numbers | small) == 0;
}

}  // namespace dequant
