// Where the vector of a thread lies, in 32-bit numbers: bytes of x and y, and indices of
// parameters.
#pragma once

#include <cstdint>

#include "cuda/plan/fast_plan.h"
#include "cuda/plan/vector_size.h"
#include "cuda/thread/vector.h"

namespace dequant::cuda {

struct FastSpot {
  int64_t x;
  int64_t y;
  uint32_t scale;
  uint32_t zero_point;
  uint32_t group;  ///< of the group index
};

/// Vector `unit` of a thread. Beyond the last vector it is the last one, which more threads than
/// one compute and store then.
template <int kSpots>
DEQUANT_HD inline uint32_t vector_of_unit(uint32_t thread, int unit, uint32_t vectors) noexcept {
  const uint32_t block = thread / kThreadsOfBlock;
  const uint32_t first = block * (kThreadsOfBlock * kSpots) + thread % kThreadsOfBlock;
  const uint32_t vector = first + static_cast<uint32_t>(unit) * kThreadsOfBlock;
  return vector < vectors ? vector : vectors - 1;
}

/// Without blocks strides of x and y are 32 bits.
template <bool kHasBlocks>
DEQUANT_HD inline void add_dimension(const FastDimension& d, uint32_t index,
                                     FastSpot& spot) noexcept {
  if constexpr (kHasBlocks) {
    const uint32_t block = d.by_block.quotient(index + d.first);
    spot.scale += block * d.scale;
    spot.zero_point += block * d.zero_point;
    spot.x += index * d.x;
    spot.y += index * d.y;
  } else {
    spot.scale += index * d.scale;
    spot.zero_point += index * d.zero_point;
    spot.x += static_cast<int64_t>(uint64_t{index} * d.short_x);
    spot.y += static_cast<int64_t>(uint64_t{index} * d.short_y);
  }
  spot.group += index * d.group;
}

/// The index of dimension d of each vector, which leaves the indices of outer dimensions.
template <bool kHasBlocks, int kSpots>
DEQUANT_HD inline void take_dimension(const FastDimension& d, Vector<uint32_t, kSpots>& rest,
                                      Vector<FastSpot, kSpots>& spots) noexcept {
  for (int u = 0; u < kSpots; ++u) {
    const uint32_t outer = d.by_size.quotient(rest[u]);
    add_dimension<kHasBlocks>(d, rest[u] - outer * d.size, spots[u]);
    rest[u] = outer;
  }
}

/// The same of the dimensions before `end` from `last` on, in a loop, in which each one waits for
/// loads of the one before.
template <bool kHasBlocks, int kSpots>
DEQUANT_HD inline void take_dimensions(const FastDimension* end, const FastDimension* last,
                                       Vector<uint32_t, kSpots>& rest,
                                       Vector<FastSpot, kSpots>& spots) noexcept {
#if defined(__CUDA_ARCH__)  // the host compiler, which nvcc calls as well, does not know it
#pragma unroll 1
#endif
  while (end > last) take_dimension<kHasBlocks>(*--end, rest, spots);
}

/// Where the vectors of a thread are.
template <int kSpots>
DEQUANT_HD inline void fast_spots(const FastPlan& f, uint32_t thread,
                                  Vector<FastSpot, kSpots>& spots) noexcept {
  Vector<uint32_t, kSpots> rest;
  for (int u = 0; u < kSpots; ++u) {
    rest[u] = vector_of_unit<kSpots>(thread, u, f.vectors);
    spots[u] = {0, 0, f.scale_origin, f.zero_point_origin, 0};
  }
  const FastDimension* const all = f.dimensions;
  if (f.has_blocks) return take_dimensions<true>(all + f.rank, all, rest, spots);
  // Ranks up to three, which most plans have, have no loop.
  take_dimension<false>(f.innermost, rest, spots);
  if (f.rank > 2) {
    take_dimensions<false>(all + f.rank - 1, all + 2, rest, spots);
    take_dimension<false>(all[1], rest, spots);
  }
  for (int u = 0; u < kSpots; ++u) add_dimension<false>(all[0], rest[u], spots[u]);
}

}  // namespace dequant::cuda
