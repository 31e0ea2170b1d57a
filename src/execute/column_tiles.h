// Strided plans of 4-bit floats of which rows of x are columns of y, in groups along the rows of x:
// MXFP4 as gpt-oss stores it.
#pragma once

#include <cstdint>
#include <optional>

#include "execute/chunk.h"
#include "execute/matrix_tiles.h"

namespace dequant {

/// The innermost dimensions of a region as rows and columns of y. Rows may be two dimensions, of
/// groups and of the rows of a group.
struct ColumnTiles : MatrixTiles {
  size_t first;        ///< the outermost dimension of rows
  int64_t rows;        ///< the product of the sizes of the dimensions of rows
  int64_t group;       ///< rows that share the scale of a column
  Dimension groups{};  ///< from a group to the next
};

/// Nothing where other tiles are as fast.
std::optional<ColumnTiles> column_tiles_of(const Plan& plan, const Region& region) noexcept;

/// Dequantizes elements of job.region that are whole rows.
void run_column_tiles(const Job& job, Range elements) noexcept;

}  // namespace dequant
