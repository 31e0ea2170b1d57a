// Plans of a matrix with groups along its columns.
#include "dialect/matrix.h"

#include "checked.h"
#include "plan/strided.h"
#include "text.h"

namespace dequant {

Result<Plan> matrix_plan(Plan plan, const Matrix& m) {
  const auto count = checked_mul(m.rows, m.columns);
  if (!count || !checked_bytes(bits(plan.output), *count)) {
    return invalid("the elements of ", to_string(std::array{m.rows, m.columns}),
                   " do not fit in 64 bits");
  }
  std::vector<Dimension> dimensions{{.size = m.rows,
                                     .x = m.x_row,
                                     .scale = m.scale.row,
                                     .zero_point = m.zero_point.row,
                                     .y = std::max<int64_t>(m.columns, 1)},
                                    {.size = m.columns, .x = m.x_column, .y = 1}};
  if (m.indexed > 0) {
    dimensions[1].group_index = 1;
    plan.parameters.group_index = {m.indexed, m.scale.group, m.zero_point.group};
  } else {
    dimensions[1].scale = m.scale.group;
    dimensions[1].zero_point = m.zero_point.group;
    dimensions[1].block = m.group;
  }
  plan.granularity = Granularity::strided;
  return strided_plan(std::move(plan), std::move(dimensions));
}

}  // namespace dequant
