// What one thread of a kernel with a group index does: neighbours in y have the parameters of any
// groups.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/thread/fast_thread.h"

namespace dequant::cuda {

/// For each element the distance from the parameters of group 0 to the parameters of its group.
template <int kCount>
struct GroupOffsets {
  Vector<uint32_t, kCount> scale;
  Vector<uint32_t, kCount> zero_point;
  bool any_is_none;  ///< some entry is no group, and has the offsets of group 0
};

DEQUANT_HD inline const uint8_t* entries_at(const FastPlan& f, const FastSpot& spot) noexcept {
  return f.plan.group_index + uint64_t{spot.group} * 4;
}

/// A number that compilers keep in a register: they would compute it again for each row.
DEQUANT_HD inline uint32_t kept(uint32_t number) noexcept {
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(number));
#endif
  return number;
}

template <int kCount>
DEQUANT_HD inline GroupOffsets<kCount> load_groups(const FastPlan& f,
                                                   const FastSpot& spot) noexcept {
  const auto groups = load_stored<32, kCount>(entries_at(f, spot)).words;
  GroupOffsets<kCount> out;
  out.any_is_none = false;
  for (int j = 0; j < kCount; ++j) {
    const bool is_none = groups[j] >= f.groups;
    out.any_is_none = out.any_is_none || is_none;
    const uint32_t group = is_none ? 0 : groups[j];
    out.scale[j] = kept(group * f.group_scale);
    out.zero_point[j] = group * f.group_zero_point;
  }
  if (out.any_is_none) report(f.plan, Fault::group_index);
  return out;
}

/// Calls set(j) for each entry that is no group. It reads the entries once more, so that these are
/// not in registers meanwhile.
template <int kCount, class Set>
DEQUANT_HD inline void for_no_groups(const FastPlan& f, const FastSpot& spot,
                                     const GroupOffsets<kCount>& groups, const Set& set) noexcept {
  if (!groups.any_is_none) return;
  const auto* entries = reinterpret_cast<const volatile Word*>(entries_at(f, spot));
  for (int j = 0; j < kCount; ++j) {
    if (entries[j] >= f.groups) set(j);
  }
}

/// The codes of a vector in a row that is one stream: other orders have no group index.
template <int kCount>
DEQUANT_HD inline StoredCodes<kUnpacked, kCount> codes_of_stream(const FastLayout& l,
                                                                 Window window) noexcept {
  if (l.bits == 4) return halves_of_bytes<kCount>(window.low, 0);
  auto out = spread_all<kUnpacked, kCount>(window, l.bits);
  for (int j = 0; j < kCount / 4; ++j) out.words[j] &= l.mask;
  return out;
}

/// The scales of one row in the groups of the columns.
template <int kCount>
DEQUANT_HD inline void scales_of_row(const FastPlan& f, uint32_t row,
                                     const GroupOffsets<kCount>& groups,
                                     Vector<float, kCount>& scales) noexcept {
  Codes codes = f.plan.scale;
  codes.data += uint64_t{row} * (static_cast<uint32_t>(codes.bits) / 8);
  large_floats_at(
      f.scale, codes, [&](int j) { return groups.scale[j]; }, scales);
}

/// Subtracts the zero points of one row in the groups of the columns from 2^23 + (code ^ sign).
template <int kCount>
DEQUANT_HD inline void subtract_zeros(const FastPlan& f, uint32_t row,
                                      const GroupOffsets<kCount>& groups,
                                      Vector<float, kCount>& y) noexcept {
  if (f.zero_point == FastParam::constant) {
    const float zero = shifted_zero(f.constant_zero, f.plan.x.sign);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] - zero;
    return;
  }
  Vector<int32_t, kCount> zeros;
  zeros_at(
      f, [&](int j) { return row + groups.zero_point[j]; }, zeros);
  for (int j = 0; j < kCount; ++j) y[j] = y[j] - shifted_zero(zeros[j], f.plan.x.sign);
}

/// The body of the kernel of integers with a group index. A thread loads the groups of its columns
/// once for some rows, and gathers the parameters of each row.
template <int kCount>
DEQUANT_HD inline void run_indexed_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  const auto groups = load_groups<kCount>(f, spots[0]);
  uint8_t* to = f.y + spots[0].y;
  StreamPlace place = stream_place(f.layout, f.layout.origin + static_cast<uint32_t>(spots[0].x));
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int u = 0; u < f.units; ++u) {
    const auto row = static_cast<uint32_t>(u);
    const Window window = stream_window<kCount>(f.layout, place);
    place.words.from += f.unit_words;
    Vector<float, kCount> scales, y;
    scales_of_row(f, spots[0].scale + row * f.scale_step, groups, scales);
    shifted_codes(codes_of_stream<kCount>(f.layout, window), f.signs, y);
    subtract_zeros(f, spots[0].zero_point + row * f.zero_point_step, groups, y);
    for_no_groups(f, spots[0], groups,
                  [&](int j) { scales[j] = std::numeric_limits<float>::quiet_NaN(); });
    bool careful = false;
    for (int j = 0; j < kCount; ++j) careful = careful || !is_finite(scales[j]);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[j];
    store_outputs(to, outputs_of(f.plan.output, y, careful));
    to += f.unit_y;
  }
}

}  // namespace dequant::cuda
