// Strided plans of 4-bit codes whose bytes have codes of two rows: int4 weights as ModelOpt packs
// them.
#pragma once

#include <cstdint>
#include <optional>

#include "execute/chunk.h"
#include "execute/matrix_tiles.h"

namespace dequant {

/// The innermost dimensions of a region as pairs of rows of y, in groups along the columns.
struct PairTiles : MatrixTiles {
  size_t pair;         ///< the dimension of the two rows of a byte
  int64_t group;       ///< columns that share a scale
  Dimension groups{};  ///< from a group to the next
};

/// Nothing where a tile has no such pairs.
std::optional<PairTiles> pair_tiles_of(const Plan& plan, const Region& region) noexcept;

/// Dequantizes elements of job.region that are whole pairs of rows.
void run_pair_tiles(const Job& job, Range elements) noexcept;

}  // namespace dequant
