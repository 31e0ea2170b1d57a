// What one thread of a kernel of rows with a group index does: the thread loads rows as in
// rows_thread.h, and for each column the scales and zero points of the column's group.
#pragma once

#include <bit>
#include <cstdint>

#include "cuda/thread/indexed_thread.h"
#include "cuda/thread/rows_thread.h"

namespace dequant::cuda {

/// The scales of a thread's rows in the group of each column; NaN where there is no group.
template <int kBits, int kCount>
DEQUANT_HD inline void load_scales_of_groups(
    const FastPlan& f, const FastSpot& spot, const GroupOffsets<kCount>& groups,
    Vector<StoredCodes<kBits, kRowsAtOnce>, kCount>& out) noexcept {
  for (int j = 0; j < kCount; ++j) out[j] = load_row_scales<kBits>(f, spot.scale + groups.scale[j]);
  for_no_groups(f, spot, groups, [&](int j) {
    for (auto& word : out[j].words.values) word = kBits == 16 ? 0x7FFF7FFF : 0x7FFFFFFF;
  });
}

/// The body of the kernel.
template <int kCount>
DEQUANT_HD inline void run_indexed_rows_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  const RowsOfThread<kCount> rows(f, thread);
  const FastSpot& spot = rows.spot;
  const auto groups = load_groups<kCount>(f, spot);
  Vector<RowZeros, kCount> zeros;
  load_row_zeros(
      f, [&](int j) { return spot.zero_point + groups.zero_point[j]; }, zeros);
  const ZeroBias bias(f);
  const auto run = [&]<int kBits>(const auto& float_of_scale) {
    Vector<StoredCodes<kBits, kRowsAtOnce>, kCount> scales;
    load_scales_of_groups(f, spot, groups, scales);
    spread_row_zeros(f, bias.in_bytes, zeros);
    for (int i = 0; i < kRowsAtOnce; ++i) {
      const RowInOrder row(i);
      Vector<float, kCount> y;
      shifted_codes(codes_of_window<kCount>(f, rows.windows, row.u), 0, y);
      for (int j = 0; j < kCount; ++j) y[j] = y[j] - row.shifted_zero(zeros[j]);
      if (bias.rest != 0) {
        for (int j = 0; j < kCount; ++j) y[j] = y[j] - bias.rest;
      }
      bool careful = false;
      for (int j = 0; j < kCount; ++j) {
        const float scale = float_of_scale(code_of(scales[j], row.u));
        careful = careful || !is_finite(scale);
        y[j] = y[j] * scale;
      }
      store_outputs(f.y + spot.y + row.u * f.unit_y, outputs_of(f.plan.output, y, careful));
    }
  };
  if constexpr (has_wide_scales(kCount)) {
    if (f.scale == FastParam::float32) {
      return run.template operator()<32>([](uint32_t code) { return std::bit_cast<float>(code); });
    }
  }
  if (f.scale == FastParam::float16) {
    return run.template operator()<16>([](uint32_t code) { return widen_float16(code); });
  }
  run.template operator()<16>([](uint32_t code) { return widen_bfloat16(code); });
}

}  // namespace dequant::cuda
