// The grids of the IQ types: points whose coordinates are the magnitudes of neighbouring elements.
// The numbers of the points, in digits of their coordinates with the first one as the lowest, rise
// with their indices. So a grid is a set of numbers.
#pragma once

#include <array>
#include <cstdint>

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

}  // namespace dequant::block
