// Plans of a matrix [rows, columns] whose codes, scales and zero points lie in matrices of any
// strides, with groups of neighbours along the columns or given by an index.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant {

/// Where the parameters of a matrix lie: the stride from row to row, and from group to group.
struct MatrixStrides {
  int64_t row = 0;
  int64_t group = 0;
};

struct Matrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t x_row = 0;  ///< strides of codes
  int64_t x_column = 1;
  MatrixStrides scale = {};
  MatrixStrides zero_point = {};
  int64_t group = 1;    ///< columns that share parameters; the last group may be short
  int64_t indexed = 0;  ///< above 0: so many groups, and a group index has that of each column
};

/// Completes a plan (elements, parameters). Demands that sizes and the group are not negative.
/// Fails with invalid_argument where elements or strides do not fit in 64 bits.
Result<Plan> matrix_plan(Plan plan, const Matrix& matrix);

}  // namespace dequant
