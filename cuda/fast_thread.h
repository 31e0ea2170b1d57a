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

/// The codes of the vectors of a thread: vectors with the same parameters have one spot.
template <int kBits, int kCount, int kSpots>
DEQUANT_HD inline void load_units(const FastPlan& f, const Vector<FastSpot, kSpots>& spots,
                                  Vector<StoredCodes<kBits, kCount>, kUnits>& stored) noexcept {
  for (int u = 0; u < kUnits; ++u) {
    const int64_t at = kSpots == 1 ? spots[0].x + u * f.unit_x : spots[u % kSpots].x;
    stored[u] = load_stored<kBits, kCount>(f.x + at);
  }
}

/// The body of the kernel of vectors with the parameters of a group each.
template <FastKind kKind, int kBits, bool kShares, Element kOutput>
DEQUANT_HD inline void run_group_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kCount = kVector<kOutput>;
  constexpr int kSpots = kShares ? 1 : kUnits;
  if (vector_of_unit<kSpots>(thread, 0, UINT32_MAX) >= f.vectors) return;
  Vector<FastSpot, kSpots> spots;
  Vector<StoredCodes<kBits, kCount>, kUnits> stored;
  Vector<float, kSpots> scales;
  Vector<ZeroOf<kKind>, kSpots> zeros{};
  fast_spots(f, thread, spots);
  load_units(f, spots, stored);
  load_group_scales(f, spots, scales);
  if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
    load_group_zeros(f, spots, zeros);
  }
  for (int u = 0; u < kUnits; ++u) {
    const int s = u % kSpots;
    Vector<ZeroOf<kKind>, kCount> all;
    for (int j = 0; j < kCount; ++j) all[j] = zeros[s];
    Vector<float, kCount> y;
    fast_values<kKind, kBits, kCount>(f, stored[u], all, y);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[s];
    const int64_t to = kShares ? spots[0].y + u * f.unit_y : spots[s].y;
    store_fast<kOutput>(f.y + to, y, may_be_nan<kKind>(f) || !is_finite(scales[s]));
  }
}

/// The body of the kernel of vectors of which each element has its own parameters, which lie one
/// after the other.
template <FastKind kKind, int kBits, bool kShares, Element kOutput>
DEQUANT_HD inline void run_each_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kCount = kVector<kOutput>;
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  Vector<StoredCodes<kBits, kCount>, kUnits> stored;
  Vector<float, kCount> scales;
  Vector<ZeroOf<kKind>, kCount> zeros{};
  fast_spots(f, thread, spots);
  if constexpr (kShares) {
    load_units(f, spots, stored);
  } else {
    stored[0] = load_stored<kBits, kCount>(f.x + spots[0].x);
  }
  load_scales(f, spots[0].scale, scales);
  if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
    load_zeros(f, spots[0].zero_point, zeros);
  }
  bool careful = may_be_nan<kKind>(f);
  for (int j = 0; j < kCount; ++j) careful = careful || !is_finite(scales[j]);
  for (int u = 0; u < (kShares ? kUnits : 1); ++u) {
    Vector<float, kCount> y;
    fast_values<kKind, kBits, kCount>(f, stored[u], zeros, y);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[j];
    store_fast<kOutput>(f.y + spots[0].y + u * f.unit_y, y, careful);
  }
}

}  // namespace dequant::cuda
