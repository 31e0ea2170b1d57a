// A job of a region whose innermost two dimensions are rows and columns of y.
#pragma once

#include "execute/kernel_calls.h"
#include "execute/packed_codes.h"

namespace dequant {

/// What the tiles of such a job read and call. The job must outlive this object.
class MatrixJob {
 protected:
  explicit MatrixJob(const Job& job) noexcept
      : job_(job),
        calls_(job),
        region_(*job.region),
        row_(region_.list[region_.rank - 2]),
        column_(region_.list[region_.rank - 1]),
        x_(job.plan.input, job.plan.parameters.x_packing, job.table, job.buffers.x, job.x_byte) {}

  const Job& job_;
  const KernelCalls calls_;
  const Region& region_;
  const Dimension& row_;
  const Dimension& column_;
  const PackedCodes x_;
};

}  // namespace dequant
