// What one thread of a kernel of a FastPlan does: it computes a few vectors, which are as far apart
// as a block of threads has vectors, and loads all of their codes and parameters first, so that the
// loads do not wait for each other.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "cuda/thread/fast_after.h"
#include "cuda/thread/fast_codes.h"
#include "cuda/thread/fast_params.h"
#include "cuda/thread/fast_spot.h"
#include "cuda/thread/fast_store.h"
#include "cuda/thread/unpack.h"

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

/// The zero points of kCount elements of one group.
template <int kCount, class Zero>
DEQUANT_HD inline Vector<Zero, kCount> all_of(Zero zero) noexcept {
  Vector<Zero, kCount> out;
  for (int j = 0; j < kCount; ++j) out[j] = zero;
  return out;
}

/// The codes of a vector, which are neighbours, or of 32 bits `column_x` bytes apart.
template <int kBits, int kCount>
DEQUANT_HD inline StoredCodes<kBits, kCount> load_codes(const FastPlan& f,
                                                        const uint8_t* from) noexcept {
  if constexpr (kBits == 32) {
    if (f.column_x != 0) {
      StoredCodes<kBits, kCount> out;
      for (int j = 0; j < kCount; ++j) {
        out.words[j] = *reinterpret_cast<const Word*>(from + j * f.column_x);
      }
      return out;
    }
  }
  return load_stored<kBits, kCount>(from);
}

/// Calls each(u) for the vectors of a thread: kUnits, or one for each spot if the plan says so.
template <int kUnits, int kSpots, bool kAlwaysAll, class Each>
DEQUANT_HD inline void for_units(const FastPlan& f, const Each& each) noexcept {
  for (int u = 0; u < kSpots; ++u) each(u);
  if (!kAlwaysAll && f.units == 1) return;
  for (int u = kSpots; u < kUnits; ++u) each(u);
}

constexpr bool is_unpacked(int bits) noexcept { return bits == kUnpacked || bits == 6; }

/// The codes of vectors u from code at(u) of the layout on.
template <class At, class Stored>
DEQUANT_HD inline void unpack_at(const FastPlan& f, const At& at, Stored& out) noexcept {
  unpack(
      f.layout, [&](int u) { return f.layout.origin + static_cast<uint32_t>(at(u)); }, out);
}

/// Loads the codes of all vectors before anything is computed, and stores after the last of them
/// has been computed: for all that compilers know, stores change x. Vector u has spot u % kSpots,
/// and `values(spot, codes, y)` gives its results.
template <int kBits, int kCount, int kSpots, bool kAlwaysAll, class Params, class Values>
DEQUANT_HD inline void run_units(const FastPlan& f, const Vector<FastSpot, kSpots>& spots,
                                 const Params& load_params, const Values& values) noexcept {
  const auto for_all = [&](const auto& each) {
    for_units<kMostUnits, kSpots, kAlwaysAll>(f, each);
  };
  const auto at = [&](int u) { return spots[u % kSpots].x + u / kSpots * f.unit_x; };
  Vector<StoredCodes<kBits, kCount>, kMostUnits> stored;
  Vector<Outputs, kMostUnits> outputs;
  if constexpr (is_unpacked(kBits)) {
    unpack_at(f, at, stored);  // also the vectors that are left out, which have offsets of 0
  } else {
    for_all([&](int u) { stored[u] = load_codes<kBits, kCount>(f, f.x + at(u)); });
  }
  const bool careful = load_params();
  for_all([&](int u) {
    Vector<float, kCount> y;
    values(u % kSpots, stored[u], y);
    outputs[u] = outputs_of(f.plan.output, y, careful);
  });
  for_all(
      [&](int u) { store_outputs(f.y + spots[u % kSpots].y + u / kSpots * f.unit_y, outputs[u]); });
}

/// The body of the kernel of vectors with the parameters of a group each; with kShares, of one
/// group.
template <FastKind kKind, int kBits, bool kShares, int kCount>
DEQUANT_HD inline void run_group_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr int kSpots = kShares ? 1 : kGroupSpots;
  if (vector_of_unit<kSpots>(thread, 0, UINT32_MAX) >= f.vectors) return;
  Vector<FastSpot, kSpots> spots;
  Vector<float, kSpots> scales;
  Vector<ZeroOf<kKind>, kSpots> zeros{};
  fast_spots(f, thread, spots);
  const auto load_params = [&] {
    load_group_scales(f, spots, scales);
    if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
      load_group_zeros(f, spots, zeros);
    }
    bool careful = may_be_nan<kKind>(f);
    for (int s = 0; s < kSpots; ++s) careful = careful || !is_finite(scales[s]);
    return careful;
  };
  const auto values = [&](int s, const auto& stored, auto& y) {
    fast_values<kKind, kBits, kCount>(f, stored, all_of<kCount>(zeros[s]), y);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[s];
  };
  run_units<kBits, kCount, kSpots, kShares>(f, spots, load_params, values);
}

/// The body of the kernel of vectors of which each element has its own parameters, which lie one
/// after the other, the same ones in each vector of a thread.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void run_each_thread(const FastPlan& f, uint32_t thread) noexcept {
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  Vector<float, kCount> scales;
  Vector<ZeroOf<kKind>, kCount> zeros{};
  fast_spots(f, thread, spots);
  const auto load_params = [&] {
    load_scales(f, spots[0].scale, scales);
    if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
      load_zeros(f, spots[0].zero_point, zeros);
    }
    bool careful = may_be_nan<kKind>(f);
    for (int j = 0; j < kCount; ++j) careful = careful || !is_finite(scales[j]);
    return careful;
  };
  const auto values = [&](int, const auto& stored, auto& y) {
    fast_values<kKind, kBits, kCount>(f, stored, zeros, y);
    for (int j = 0; j < kCount; ++j) y[j] = y[j] * scales[j];
  };
  run_units<kBits, kCount, 1, false>(f, spots, load_params, values);
}

/// The body of the kernel of plans that are not plain: its vectors have the parameters of one
/// group. A loop keeps the kernel small.
template <FastKind kKind, int kBits, int kCount>
DEQUANT_HD inline void run_finishing_thread(const FastPlan& f, uint32_t thread) noexcept {
  constexpr bool kMayHaveRanges =
      (kKind == FastKind::integer || kKind == FastKind::wide) && may_have_ranges(kBits);
  if (thread >= f.vectors) return;
  Vector<FastSpot, 1> spots;
  Vector<float, 1> scales;
  Vector<float, 1> offsets{};
  Vector<ZeroOf<kKind>, 1> zeros{};
  fast_spots(f, thread, spots);
  load_group_floats<kMayHaveRanges>(f, spots, scales, offsets);
  if constexpr (kKind == FastKind::integer || kKind == FastKind::wide) {
    load_group_zeros(f, spots, zeros);
  }
  const bool careful = may_be_nan<kKind>(f) || finish_may_give_nan(f.plan, scales[0], offsets[0]);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int u = 0; u < f.units; ++u) {
    const int64_t at = spots[0].x + u * f.unit_x;
    Vector<StoredCodes<kBits, kCount>, 1> stored;
    if constexpr (is_unpacked(kBits)) {
      unpack_at(
          f, [&](int) { return at; }, stored);
    } else {
      stored[0] = load_codes<kBits, kCount>(f, f.x + at);
    }
    const auto all = all_of<kCount>(zeros[0]);
    Vector<float, kCount> y;
    fast_values<kKind, kBits, kCount>(f, stored[0], all, y);
    finish<kMayHaveRanges>(f.plan, scales[0], offsets[0], y);
    store_outputs(f.y + spots[0].y + u * f.unit_y, outputs_of(f.plan.output, y, careful));
  }
}

}  // namespace dequant::cuda
