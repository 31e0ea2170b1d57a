// Where the vector of a thread lies, in 32-bit numbers: bytes of x and y, and indices of
// parameters.
#pragma once

#include <cstdint>

#include "cuda/fast_plan.h"
#include "cuda/vector.h"
#include "cuda/vector_size.h"

namespace dequant::cuda {

struct FastSpot {
  int64_t x;
  int64_t y;
  uint32_t scale;
  uint32_t zero_point;
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
}

/// Adds all dimensions of any number.
DEQUANT_HD inline void add_dimensions(const FastPlan& f, uint32_t vector, FastSpot& spot) noexcept {
#if defined(__CUDA_ARCH__)  // the host compiler, which nvcc calls as well, does not know it
#pragma unroll 1
#endif
  for (int d = f.rank - 1; d >= 0; --d) {
    const FastDimension& of = f.dimensions[d];
    const uint32_t outer = d == 0 ? 0 : of.by_size.quotient(vector);
    if (of.counts) add_dimension(of, vector - outer * of.size, spot);
    vector = outer;
  }
}

/// The vectors of a thread. Ranks up to two, which most plans have, are computed for all vectors
/// together: in a loop over dimensions each vector would wait for the one before.
template <int kSpots>
DEQUANT_HD inline void fast_spots(const FastPlan& f, uint32_t thread,
                                  Vector<FastSpot, kSpots>& spots) noexcept {
  Vector<uint32_t, kSpots> rest;
  for (int u = 0; u < kSpots; ++u) {
    rest[u] = vector_of_unit<kSpots>(thread, u, f.vectors);
    spots[u] = {static_cast<int64_t>(uint64_t{rest[u]} * f.x_step),
                static_cast<int64_t>(uint64_t{rest[u]} * f.y_step), f.scale_origin,
                f.zero_point_origin};
  }
  if (f.rank == 0) return;
  if (f.rank > 2) {
    for (int u = 0; u < kSpots; ++u) add_dimensions(f, rest[u], spots[u]);
    return;
  }
  if (f.rank == 2) {
    const FastDimension& inner = f.dimensions[1];
    for (int u = 0; u < kSpots; ++u) {
      const uint32_t outer = inner.by_size.quotient(rest[u]);
      if (inner.counts) add_dimension(inner, rest[u] - outer * inner.size, spots[u]);
      rest[u] = outer;
    }
  }
  for (int u = 0; u < kSpots; ++u) add_dimension(f.dimensions[0], rest[u], spots[u]);
}

}  // namespace dequant::cuda
