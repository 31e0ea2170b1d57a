// What one thread of a kernel of a FastPlan does: it computes a few vectors, which are as far apart
// as a block of threads has vectors, and loads all of their codes and parameters first, so that the
// loads do not wait for each other.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "cuda/fast_codes.h"
#include "cuda/fast_params.h"
#include "cuda/fast_spot.h"
#include "cuda/fast_store.h"

namespace dequant::cuda {

/// What is subtracted from codes: of integers of 32 bits an integer, of shorter ones a float.
template <FastKind kKind>
using ZeroOf = std::conditional_t<kKind == FastKind::wide, int64_t, float>;

/// What scales multiply. `zeros` are of integers alone.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void fast_values(const FastPlan& f, StoredCodes<kBits, kCount> stored,
                                   const Vector<ZeroOf<kKind>, kCount>& zeros,
                                   Vector<float, kCount>& out) noexcept {
  if (kBits == 4 && f.high_first) {
    for (int j = 0; j < stored.kWords; ++j) stored.words[j] = swapped_halves(stored.words[j]);
  }
  if constexpr (kKind == FastKind::integer) {
    shifted_codes(stored, f.signs, out);
    for (int j = 0; j < kCount; ++j) out[j] = out[j] - zeros[j];
  } else if constexpr (kKind == FastKind::wide) {
    for (int j = 0; j < kCount; ++j) {
      out[j] = static_cast<float>(int64_t{stored.words[j] ^ f.signs} - zeros[j]);
    }
  } else if constexpr (kKind == FastKind::floating) {
    Vector<uint32_t, kCount> tops;
    for (int j = 0; j < kCount; ++j) tops[j] = top_code(stored, j);
    float_values(f.number, tops, out);
  } else {
    const auto* table = reinterpret_cast<const Word*>(f.plan.codebook);
    for (int j = 0; j < kCount; ++j) {
      out[j] = std::bit_cast<float>(uint32_t{table[code_of(stored, j)]});
    }
  }
}

/// True if products of finite scales may be NaN.
template <FastKind kKind>
DEQUANT_HD inline bool may_be_nan(const FastPlan& f) noexcept {
  if (kKind == FastKind::integer || kKind == FastKind::wide) return false;
  return kKind == FastKind::codebook || f.number.specials != Specials::none;
}

/// The body of the kernel of vectors with the parameters of a group each.
template <FastKind kKind, int kBits, Element kOutput>
DEQUANT_HD inline void run_group_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kCount = kVector<kOutput>;
  constexpr int kUnits = kGroupUnits;
  if (vector_of_unit<kUnits>(thread, 0, UINT32_MAX) >= f.vectors) return;
  Vector<FastSpot, kUnits> spots;
  Vector<StoredCodes<kBits, kCount>, kUnits> stored;
  Vector<float, kUnits> scales;
  Vector<ZeroOf<kKind>, kUnits> zeros{};
  fast_spots(f, thread, spots);
  for (int u = 0; u < kUnits; ++u) stored[u] = load_stored<kBits, kCount>(f.x + spots[u].x);
  load_group_scales(f, spots, scales);
  if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
    load_group_zeros(f, spots, zeros);
  }
  for (int u = 0; u < kUnits; ++u) {
    Vector<ZeroOf<kKind>, kCount> all;
    for (int j = 0; j < kCount; ++j) all[j] = zeros[u];
    Vector<float, kCount> y;
    fast_values<kKind, kBits, kCount>(f, stored[u], all, y);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[u];
    store_fast<kOutput>(f.y + spots[u].y, y, may_be_nan<kKind>(f) || !is_finite(scales[u]));
  }
}

/// The body of the kernel of vectors of which each element has its own parameters, which lie one
/// after the other.
template <FastKind kKind, int kBits, Element kOutput>
DEQUANT_HD inline void run_each_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kCount = kVector<kOutput>;
  constexpr int kUnits = kEachUnits;
  if (vector_of_unit<kUnits>(thread, 0, UINT32_MAX) >= f.vectors) return;
  Vector<FastSpot, kUnits> spots;
  Vector<StoredCodes<kBits, kCount>, kUnits> stored;
  Vector<Vector<float, kCount>, kUnits> scales;
  Vector<Vector<ZeroOf<kKind>, kCount>, kUnits> zeros;
  fast_spots(f, thread, spots);
  for (int u = 0; u < kUnits; ++u) {
    stored[u] = load_stored<kBits, kCount>(f.x + spots[u].x);
    load_scales(f, spots[u].scale, scales[u]);
    if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
      load_zeros(f, spots[u].zero_point, zeros[u]);
    }
  }
  for (int u = 0; u < kUnits; ++u) {
    bool careful = may_be_nan<kKind>(f);
    Vector<float, kCount> y;
    fast_values<kKind, kBits, kCount>(f, stored[u], zeros[u], y);
    for (int j = 0; j < kCount; ++j) {
      careful = careful || !is_finite(scales[u][j]);
      y[j] = y[j] * scales[u][j];
    }
    store_fast<kOutput>(f.y + spots[u].y, y, careful);
  }
}

}  // namespace dequant::cuda
