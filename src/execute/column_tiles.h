// Strided plans of 4-bit floats of which rows of x are columns of y, in groups along the rows of x:
// MXFP4 as gpt-oss stores it.
#pragma once

#include <cstdint>
#include <optional>

#include "execute/chunk.h"

namespace dequant {

/// The innermost dimensions of a region as rows and columns of y. Rows may be two dimensions, of
/// groups and of the rows of a group.
struct ColumnTiles {
  size_t first;        ///< the outermost dimension of rows
  int64_t rows;        ///< of the dimensions of rows
  int64_t columns;     ///< of a row
  int64_t group;       ///< rows that share the scale of a column
  Dimension groups{};  ///< from a group to the next

  /// Rows of a chunk of about so many elements.
  int64_t rows_of_chunk(int64_t elements) const noexcept;
};

/// Nothing where other tiles are as fast.
std::optional<ColumnTiles> column_tiles_of(const Plan& plan, const Region& region) noexcept;

/// Dequantizes elements of job.region that are whole rows.
void run_column_tiles(const Job& job, Range elements) noexcept;

}  // namespace dequant
