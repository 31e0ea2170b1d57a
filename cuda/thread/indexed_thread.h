// What one thread of a kernel with a group index does: neighbours in y have the parameters of any
// groups.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/thread/fast_thread.h"

namespace dequant::cuda {

/// For each element the distance from the parameters of group 0 to the parameters of its group, and
/// whether its entry of the group index is no group.
template <int kCount>
struct GroupOffsets {
  Vector<uint32_t, kCount> scale;
  Vector<uint32_t, kCount> zero_point;
  Vector<bool, kCount> is_none;
  bool any_is_none;
};

template <int kCount>
DEQUANT_HD inline void load_groups(const FastPlan& f, uint32_t first,
                                   GroupOffsets<kCount>& out) noexcept {
  const Computation& p = f.plan;
  const auto* from = reinterpret_cast<const Word*>(p.group_index) + first;
  Vector<uint32_t, kCount> groups;
  for (int j = 0; j < kCount; ++j) groups[j] = from[j];
  out.any_is_none = false;
  for (int j = 0; j < kCount; ++j) {
    out.is_none[j] = groups[j] >= f.groups;
    out.any_is_none = out.any_is_none || out.is_none[j];
    const uint32_t group = out.is_none[j] ? 0 : groups[j];
    out.scale[j] = group * f.group_scale;
    out.zero_point[j] = group * f.group_zero_point;
  }
  if (out.any_is_none) report(p, Fault::group_index);
}

/// The codes of a vector in a row that is one stream: other orders have no group index.
template <int kCount>
DEQUANT_HD inline StoredCodes<kUnpacked, kCount> codes_of_stream(const FastLayout& l,
                                                                 Window window) noexcept {
  auto out = spread_all<kUnpacked, kCount>(window, l.bits);
  for (int j = 0; j < kCount / 4; ++j) out.words[j] &= l.mask;
  return out;
}

/// The body of the kernel of integers with a group index. A thread loads the groups of its columns
/// once for some rows, and gathers the parameters of each row.
template <int kCount>
DEQUANT_HD inline void run_indexed_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  GroupOffsets<kCount> groups;
  load_groups(f, spots[0].group, groups);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int u = 0; u < f.units; ++u) {
    const auto row = static_cast<uint32_t>(u);
    const uint32_t scale = spots[0].scale + row * f.scale_step;
    const uint32_t zero_point = spots[0].zero_point + row * f.zero_point_step;
    const auto at = static_cast<uint32_t>(spots[0].x + u * f.unit_x);
    const Window window = stream_window<kCount>(f.layout, f.layout.origin + at);
    const auto stored = codes_of_stream<kCount>(f.layout, window);
    Vector<float, kCount> scales, zeros, y;
    Vector<int32_t, kCount> integers;
    scales_at(
        f, [&](int j) { return scale + groups.scale[j]; }, scales);
    zeros_at(
        f, [&](int j) { return zero_point + groups.zero_point[j]; }, integers);
    bool careful = false;
    for (int j = 0; j < kCount; ++j) {
      zeros[j] = shifted_zero(integers[j], f.plan.x.sign);
      if (groups.is_none[j]) scales[j] = std::numeric_limits<float>::quiet_NaN();
      careful = careful || !is_finite(scales[j]);
    }
    fast_values<FastKind::integer, kUnpacked, kCount>(f, stored, zeros, y);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[j];
    store_outputs(f.y + spots[0].y + u * f.unit_y, outputs_of(f.plan.output, y, careful));
  }
}

/// The zero points of four rows in each group of the columns, as stored. How they are stored is
/// decided once, so that the loads follow each other.
template <int kCount>
DEQUANT_HD inline void load_zeros_of_rows(const FastPlan& f, uint32_t first,
                                          const GroupOffsets<kCount>& groups,
                                          Vector<uint32_t, kCount>& out) noexcept {
  const uint8_t* data = f.plan.zero_point.data;
  const auto at = [&](int j) { return first + groups.zero_point[j]; };
  if (f.zero_point == FastParam::constant) {
    out = {};
  } else if (f.zero_point == FastParam::bits8) {
    for (int j = 0; j < kCount; ++j) out[j] = *reinterpret_cast<const Word*>(data + at(j));
  } else {
    for (int j = 0; j < kCount; ++j) {
      out[j] = *reinterpret_cast<const HalfWord*>(data + (at(j) >> 1));
    }
  }
}

/// The same as bytes, without their signs.
template <int kCount>
DEQUANT_HD inline void spread_zeros(const FastPlan& f, Vector<uint32_t, kCount>& zeros) noexcept {
  if (f.zero_point == FastParam::bits4) {
    constexpr uint32_t kMask = 0x0F0F0F0F;
    const uint32_t offset = f.wraps ? static_cast<uint32_t>(f.plan.zero_point_offset) & 15 : 0;
    for (int j = 0; j < kCount; ++j) {
      zeros[j] = ((spread(zeros[j], 4) & kMask) + offset * 0x01010101) & kMask;
    }
  }
  const uint32_t signs = f.plan.zero_point.sign * 0x01010101;
  for (int j = 0; j < kCount; ++j) zeros[j] ^= signs;
}

/// What is to be added to the bytes of spread_zeros(), and the sign of x.
DEQUANT_HD inline int32_t zero_bias(const FastPlan& f) noexcept {
  const auto sign = static_cast<int32_t>(f.plan.x.sign);
  if (f.zero_point == FastParam::constant) return f.constant_zero + sign;
  const int32_t offset = f.wraps ? 0 : f.plan.zero_point_offset;
  return offset - static_cast<int32_t>(f.plan.zero_point.sign) + sign;
}

/// The body of the same kernel for rows whose parameters of a group are neighbours: it loads those
/// of four rows at once.
template <int kCount>
DEQUANT_HD inline void run_indexed_rows_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  fast_spots(f, thread, spots);
  GroupOffsets<kCount> groups;
  load_groups(f, spots[0].group, groups);
  Vector<Window, kIndexedRows> windows;
  for (int u = 0; u < kIndexedRows; ++u) {
    const auto at = static_cast<uint32_t>(spots[0].x + u * f.unit_x);
    windows[u] = stream_window<kCount>(f.layout, f.layout.origin + at);
  }
  Vector<uint32_t, kCount> zeros;
  Vector<float, kCount> biases;
  const auto bias = static_cast<float>(zero_bias(f));
  load_zeros_of_rows(f, spots[0].zero_point, groups, zeros);
  for (int j = 0; j < kCount; ++j) {
    biases[j] = groups.is_none[j] ? std::numeric_limits<float>::quiet_NaN() : bias;
  }
  const auto run = [&]<int kBits>(const auto& scale_of) {
    Vector<StoredCodes<kBits, kIndexedRows>, kCount> loaded;
    for (int j = 0; j < kCount; ++j) {
      const uint32_t i = spots[0].scale + groups.scale[j];
      loaded[j] = load_stored<kBits, kIndexedRows>(f.plan.scale.data + uint64_t{i} * (kBits / 8));
    }
    spread_zeros(f, zeros);
    for (int u = 0; u < kIndexedRows; ++u) {
      Vector<float, kCount> y;
      shifted_codes(codes_of_stream<kCount>(f.layout, windows[u]), f.signs, y);
      bool careful = groups.any_is_none;
      for (int j = 0; j < kCount; ++j) {
        const float scale = scale_of(loaded[j], u);
        const uint32_t zero = permuted(zeros[j], kShiftBits, 0x7650 + static_cast<uint32_t>(u));
        careful = careful || !is_finite(scale);
        y[j] = (y[j] - (std::bit_cast<float>(zero) + biases[j])) * scale;
      }
      store_outputs(f.y + spots[0].y + u * f.unit_y, outputs_of(f.plan.output, y, careful));
    }
  };
  if (f.scale == FastParam::float32) {
    return run.template operator()<32>(
        [](const auto& loaded, int u) { return std::bit_cast<float>(loaded.words[u]); });
  }
  run.template operator()<16>(
      [&](const auto& loaded, int u) { return half_float(f.scale, code_of(loaded, u)); });
}

}  // namespace dequant::cuda
