// Strided plans whose codes are unpacked for several rows of y at once: where the words of x run
// down columns, and where rows of x are columns of y.
#pragma once

#include <optional>

#include "execute/chunk.h"
#include "execute/matrix_tiles.h"

namespace dequant {

/// The dimensions of a region as a matrix of rows and columns of y.
struct RowTiles : MatrixTiles {
  size_t row;         ///< the dimension of rows; the dimensions inside it are the columns
  int64_t x_step;     ///< codes of x from a column to the next
  bool down_columns;  ///< words of x run down columns; false: rows of x are columns of y
};

/// Nothing where tiles of rows have no advantage.
std::optional<RowTiles> row_tiles_of(const Plan& plan, const Region& region) noexcept;

/// Dequantizes elements of job.region that are whole rows.
void run_row_tiles(const Job& job, Range elements) noexcept;

}  // namespace dequant
