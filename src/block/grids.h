// The grids of the IQ types: points whose coordinates are the magnitudes of neighbouring elements.
// The numbers of the points, in digits of their coordinates with the first one as the lowest, rise
// with their indices. So a grid is a set of numbers.
#pragma once

#include <array>
#include <cstdint>

#include "host_device.h"

#if defined(__CUDACC__)
#include "block/grid_sets.h"
#endif

namespace dequant::block {

/// Eight coordinates of a byte each, the first one in the lowest byte.
extern const std::array<uint64_t, 256> kGridIQ2_XXS;
extern const std::array<uint64_t, 512> kGridIQ2_XS;
extern const std::array<uint64_t, 1024> kGridIQ2_S;
/// Of IQ1_S and IQ1_M: coordinates times 8, in two's complement.
extern const std::array<uint64_t, 2048> kGridIQ1;

/// Four coordinates of a byte each.
extern const std::array<uint32_t, 256> kGridIQ3_XXS;
extern const std::array<uint32_t, 512> kGridIQ3_S;

// Points by index, on the host and on devices, which cannot read constants of the host.
#if defined(__CUDACC__)
#define DEQUANT_GRID(Point, points, function, name)                                  \
  __device__ constexpr std::array<Point, points> kDevice##name = points_of_##name(); \
  DEQUANT_HD inline Point function(uint32_t index) noexcept { return DEQUANT_GRID_OF(name)[index]; }
#if defined(__CUDA_ARCH__)
#define DEQUANT_GRID_OF(name) kDevice##name
#else
#define DEQUANT_GRID_OF(name) kGrid##name
#endif
#else
#define DEQUANT_GRID(Point, points, function, name) \
  inline Point function(uint32_t index) noexcept { return kGrid##name[index]; }
#endif
DEQUANT_GRID(uint64_t, 256, grid_iq2_xxs, IQ2_XXS)
DEQUANT_GRID(uint64_t, 512, grid_iq2_xs, IQ2_XS)
DEQUANT_GRID(uint64_t, 1024, grid_iq2_s, IQ2_S)
DEQUANT_GRID(uint64_t, 2048, grid_iq1, IQ1)
DEQUANT_GRID(uint32_t, 256, grid_iq3_xxs, IQ3_XXS)
DEQUANT_GRID(uint32_t, 512, grid_iq3_s, IQ3_S)
#undef DEQUANT_GRID
#undef DEQUANT_GRID_OF

}  // namespace dequant::block
