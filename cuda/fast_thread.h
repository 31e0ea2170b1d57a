// What one thread of a kernel of a FastPlan does: it computes a few vectors, which are as far apart
// as a block of threads has vectors, and loads all of their codes and parameters first, so that the
// loads do not wait for each other.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "cuda/fast_after.h"
#include "cuda/fast_codes.h"
#include "cuda/fast_params.h"
#include "cuda/fast_spot.h"
#include "cuda/fast_store.h"
#include "cuda/unpack.h"

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
template <int kBits, int kCount, int kSpots, int kUnits>
DEQUANT_HD inline void load_units(const FastPlan& f, const Vector<FastSpot, kSpots>& spots,
                                  Vector<StoredCodes<kBits, kCount>, kUnits>& stored) noexcept {
  const auto at = [&](int u) {
    return kSpots == 1 ? spots[0].x + u * f.unit_x : spots[u % kSpots].x;
  };
  if constexpr (kBits == kUnpacked || kBits == 6) {
    unpack(
        f.layout, [&](int u) { return f.layout.origin + static_cast<uint32_t>(at(u)); }, stored);
  } else {
    for (int u = 0; u < kUnits; ++u) stored[u] = load_stored<kBits, kCount>(f.x + at(u));
  }
}

/// The same of a single vector.
template <int kBits, int kCount>
DEQUANT_HD inline StoredCodes<kBits, kCount> load_one(const FastPlan& f, int64_t at) noexcept {
  if constexpr (kBits == kUnpacked || kBits == 6) {
    Vector<StoredCodes<kBits, kCount>, 1> one;
    unpack(
        f.layout, [&](int) { return f.layout.origin + static_cast<uint32_t>(at); }, one);
    return one[0];
  } else {
    return load_stored<kBits, kCount>(f.x + at);
  }
}

template <int kCount, int kUnits>
using Units = Vector<Vector<float, kCount>, kUnits>;

/// Stores the vectors of a thread, after the last of them has been computed: stores might change x
/// and parameters for all that compilers know.
template <int kCount, int kSpots, int kUnits>
DEQUANT_HD inline void store_units(const FastPlan& f, const Vector<FastSpot, kSpots>& spots,
                                   const Units<kCount, kUnits>& y, bool careful) noexcept {
  const auto store = [&]<Element kOutput>(bool any_is_careful) {
    for (int u = 0; u < kUnits; ++u) {
      const int64_t at = kSpots == 1 ? spots[0].y + u * f.unit_y : spots[u % kSpots].y;
      store_fast<kOutput>(f.y + at, y[u], any_is_careful);
    }
  };
  const auto as = [&]<Element kOutput>() {
    if (careful) return store.template operator()<kOutput>(true);
    store.template operator()<kOutput>(false);
  };
  if constexpr (kCount == kVector<Element::float32>) {
    as.template operator()<Element::float32>();
  } else if (f.plan.output == Element::float16) {
    as.template operator()<Element::float16>();
  } else {
    as.template operator()<Element::bfloat16>();
  }
}

/// The zero points of kCount elements of one group.
template <class Zero, int kCount>
DEQUANT_HD inline Vector<Zero, kCount> all_of(Zero zero) noexcept {
  Vector<Zero, kCount> out;
  for (int j = 0; j < kCount; ++j) out[j] = zero;
  return out;
}

/// The body of the kernel of vectors with the parameters of a group each; with kShares, of one
/// group.
template <FastKind kKind, int kBits, bool kShares, int kCount>
DEQUANT_HD inline void run_group_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kUnits = kShares ? kSharedUnits : kGroupUnits;
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
  bool careful = may_be_nan<kKind>(f);
  for (int s = 0; s < kSpots; ++s) careful = careful || !is_finite(scales[s]);
  Units<kCount, kUnits> y;
  for (int u = 0; u < kUnits; ++u) {
    const int s = u % kSpots;
    const auto all = all_of<ZeroOf<kKind>, kCount>(zeros[s]);
    fast_values<kKind, kBits, kCount>(f, stored[u], all, y[u]);
    for (int j = 0; j < kCount; ++j) y[u][j] = y[u][j] * scales[s];
  }
  store_units(f, spots, y, careful);
}

/// The body of the kernel of vectors of which each element has its own parameters, which lie one
/// after the other; with kShares, the same ones in each vector of a thread.
template <FastKind kKind, int kBits, bool kShares, int kCount>
DEQUANT_HD inline void run_each_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  constexpr int kUnits = kShares ? kSharedUnits : 1;
  Vector<FastSpot, 1> spots;
  Vector<StoredCodes<kBits, kCount>, kUnits> stored;
  Vector<float, kCount> scales;
  Vector<ZeroOf<kKind>, kCount> zeros{};
  fast_spots(f, thread, spots);
  load_units(f, spots, stored);
  load_scales(f, spots[0].scale, scales);
  if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
    load_zeros(f, spots[0].zero_point, zeros);
  }
  bool careful = may_be_nan<kKind>(f);
  for (int j = 0; j < kCount; ++j) careful = careful || !is_finite(scales[j]);
  Units<kCount, kUnits> y;
  for (int u = 0; u < kUnits; ++u) {
    fast_values<kKind, kBits, kCount>(f, stored[u], zeros, y[u]);
    for (int j = 0; j < kCount; ++j) y[u][j] = y[u][j] * scales[j];
  }
  store_units(f, spots, y, careful);
}

/// The body of the kernel of plans that are not plain: its vectors have the parameters of one
/// group. A loop keeps the kernel small.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void run_finishing_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  Vector<float, 1> scales;
  Vector<float, 1> offsets{};
  Vector<ZeroOf<kKind>, 1> zeros{};
  fast_spots(f, thread, spots);
  load_group_floats(f, spots, scales, offsets);
  if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
    load_group_zeros(f, spots, zeros);
  }
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int u = 0; u < f.units; ++u) {
    const auto stored = load_one<kBits, kCount>(f, spots[0].x + u * f.unit_x);
    const auto all = all_of<ZeroOf<kKind>, kCount>(zeros[0]);
    Vector<float, kCount> y;
    fast_values<kKind, kBits, kCount>(f, stored, all, y);
    finish(f.plan, scales[0], offsets[0], y);
    store_one_vector<kCount>(f.plan.output, f.y + spots[0].y + u * f.unit_y, y, true);
  }
}

}  // namespace dequant::cuda
