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

DEQUANT_HD inline void add_dimension(const FastDimension& d, uint32_t index,
                                     FastSpot& spot) noexcept {
  const uint32_t block = d.by_block.quotient(index + d.first);
  spot.scale += block * d.scale;
  spot.zero_point += block * d.zero_point;
  if (!d.moves) return;
  spot.x += index * d.x;
  spot.y += index * d.y;
  spot.group += index * d.group;
}

/// The index of dimension d of each vector, which leaves the indices of outer dimensions.
template <int kSpots>
DEQUANT_HD inline void take_dimension(const FastDimension& d, Vector<uint32_t, kSpots>& rest,
                                      Vector<FastSpot, kSpots>& spots) noexcept {
  for (int u = 0; u < kSpots; ++u) {
    const uint32_t outer = d.by_size.quotient(rest[u]);
    if (d.counts) add_dimension(d, rest[u] - outer * d.size, spots[u]);
    rest[u] = outer;
  }
}

/// Where the vectors of a thread are. Ranks up to three, which most plans have, have no loop, in
/// which each dimension would wait for loads of the one before.
template <int kSpots>
DEQUANT_HD inline void fast_spots(const FastPlan& f, uint32_t thread,
                                  Vector<FastSpot, kSpots>& spots) noexcept {
  Vector<uint32_t, kSpots> rest;
  for (int u = 0; u < kSpots; ++u) {
    rest[u] = vector_of_unit<kSpots>(thread, u, f.vectors);
    spots[u] = {static_cast<int64_t>(uint64_t{rest[u]} * f.x_step),
                static_cast<int64_t>(uint64_t{rest[u]} * f.y_step), f.scale_origin,
                f.zero_point_origin, 0};
  }
  if (f.rank == 0) return;
  if (f.rank > 2) {
#if defined(__CUDA_ARCH__)  // the host compiler, which nvcc calls as well, does not know it
#pragma unroll 1
#endif
    for (int d = f.rank - 1; d > 2; --d) take_dimension(f.dimensions[d], rest, spots);
    take_dimension(f.dimensions[2], rest, spots);
  }
  if (f.rank > 1) take_dimension(f.dimensions[1], rest, spots);
  for (int u = 0; u < kSpots; ++u) add_dimension(f.dimensions[0], rest[u], spots[u]);
}

}  // namespace dequant::cuda
