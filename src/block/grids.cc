// The grids as constants of the library.
#include "block/grids.h"

#include "block/grid_sets.h"

namespace dequant::block {

constexpr std::array<uint64_t, 256> kGridIQ2_XXS = points_of_IQ2_XXS();
constexpr std::array<uint64_t, 512> kGridIQ2_XS = points_of_IQ2_XS();
constexpr std::array<uint64_t, 1024> kGridIQ2_S = points_of_IQ2_S();
constexpr std::array<uint64_t, 2048> kGridIQ1 = points_of_IQ1();
constexpr std::array<uint32_t, 256> kGridIQ3_XXS = points_of_IQ3_XXS();
constexpr std::array<uint32_t, 512> kGridIQ3_S = points_of_IQ3_S();

}  // namespace dequant::block
