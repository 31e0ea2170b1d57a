// Strided plans with a group index over columns, in any order. Each element has the scale and the
// zero point of its row and of its column's group.
#pragma once

#include <cstdint>
#include <optional>

#include "execute/chunk.h"
#include "execute/matrix_tiles.h"

namespace dequant {

/// How the innermost two dimensions of a region, rows and columns of y, are divided into tiles.
struct IndexTiles : MatrixTiles {
  /// What is contiguous in x: the codes of a row, those of a column, or words down a column, whose
  /// bytes hold whole codes.
  enum class Codes : uint8_t { rows, columns, bytes_of_words };
  Codes codes;
};

/// Nothing where the group index is not one of columns, or has too many groups for a table.
std::optional<IndexTiles> index_tiles_of(const Plan& plan, const Region& region) noexcept;

/// Dequantizes elements of job.region that are whole rows.
void run_index_tiles(const Job& job, Range elements) noexcept;

}  // namespace dequant
