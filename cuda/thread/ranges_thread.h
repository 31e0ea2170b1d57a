// What one thread of a kernel of ranges does: its vectors have the same elements of a row, each
// with a range of its own. Scales and offsets are computed once for all vectors of the thread.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/thread/fast_codes.h"
#include "cuda/thread/fast_params.h"
#include "cuda/thread/fast_spot.h"
#include "cuda/thread/fast_store.h"

namespace dequant::cuda {

/// The codes of kCount elements as floats, minus the shift of the rule as a float. Of codes of 8
/// and 16 bits all three are integers that floats hold.
template <int kBits, int kCount>
DEQUANT_HD inline void shifted_differences(const FastPlan& f, const uint8_t* from,
                                           Vector<float, kCount>& y) noexcept {
  const auto stored = load_stored<kBits, kCount>(from);
  if constexpr (kBits == 32) {
    const auto sign = static_cast<int64_t>(f.plan.x.sign);
    const auto shift = static_cast<float>(f.plan.shift);
    for (int j = 0; j < kCount; ++j) {
      const auto code = static_cast<float>(int64_t{stored.words[j] ^ f.signs} - sign);
      y[j] = code - shift;
    }
  } else {
    shifted_codes(stored, f.signs, y);
    const float shift = shifted_zero(f.plan.shift, f.plan.x.sign);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] - shift;
  }
}

/// Scale and offset of each of kCount ranges, which are neighbours. Rule::min_first has one range
/// for a tensor, see has_ranges_of_each().
template <int kCount>
DEQUANT_HD inline void load_ranges(const FastPlan& f, uint32_t first, Vector<float, kCount>& scales,
                                   Vector<float, kCount>& offsets) noexcept {
  const Computation& p = f.plan;
  const auto min = load_stored<32, kCount>(p.scale.data + uint64_t{first} * 4);
  const auto max = load_stored<32, kCount>(p.max_range.data + uint64_t{first} * 4);
  const bool is_min_combined = p.rule == Rule::min_combined;
  for (int j = 0; j < kCount; ++j) {
    const auto low = std::bit_cast<float>(min.words[j]);
    const auto high = std::bit_cast<float>(max.words[j]);
    scales[j] = is_min_combined ? min_combined_params(p.limits, low, high).scale
                                : scaled_params(p.rule, p.limits, low, high).scale;
    offsets[j] = is_min_combined ? low : -0.0F;  // -0 changes no sum
  }
}

/// The body of the kernel. A loop keeps the kernel small.
template <int kCount>
DEQUANT_HD inline void run_ranges_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  Vector<float, kCount> scales, offsets;
  fast_spots(f, thread, spots);
  load_ranges(f, spots[0].scale, scales, offsets);
  bool careful = false;
  for (int j = 0; j < kCount; ++j) {
    careful = careful || !is_finite(scales[j]) || !is_finite(offsets[j]);
  }
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int u = 0; u < f.units; ++u) {
    const uint8_t* from = f.x + spots[0].x + u * f.unit_x;
    Vector<float, kCount> y;
    switch (f.bits) {
      case 8: shifted_differences<8>(f, from, y); break;
      case 16: shifted_differences<16>(f, from, y); break;
      default: shifted_differences<32>(f, from, y);
    }
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[j] + offsets[j];
    store_outputs(f.y + spots[0].y + u * f.unit_y, outputs_of(f.plan.output, y, careful));
  }
}

}  // namespace dequant::cuda
