// explain(): the name of the way of a plan, the number of chunks and the target.
#include "dequant/explain.h"

#include "dequant/isa.h"
#include "execute/check.h"
#include "execute/way.h"
#include "kernel/targets.h"
#include "text.h"

namespace dequant {

Result<std::string> explain(const Plan& plan, const RunOptions& options) {
  DEQUANT_CHECK(check_plan(plan));
  const int64_t y_bytes = extents(plan).y * (bits(plan.output) / 8);
  const Way way =
      way_of(plan, active_table(), {{0, element_count(plan)}, y_bytes, options.stores, 0});
  return concat(way.name(), ", ", way.chunks, way.chunks == 1 ? " chunk on " : " chunks on ",
                active_target());
}

}  // namespace dequant
