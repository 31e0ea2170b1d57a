// Which share of a conversion a process carries out, by the variables that schedulers set.
#pragma once

#include <cstdint>
#include <functional>

#include "dequant/status.h"

namespace dequant::format {

/// Share `index` of `count`, from 0 on.
struct ShareNumber {
  int64_t index = 0;
  int64_t count = 1;

  friend bool operator==(const ShareNumber&, const ShareNumber&) = default;
};

/// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

/// The share by the variables of Slurm (arrays, and steps by srun), torchrun, Open MPI, PMI, and
/// Kubernetes' Indexed Jobs, where JOB_COMPLETION_COUNT must be set to the completions of the job.
/// Fails with invalid_argument where no scheduler has set its variables, where one is not a number
/// of a share, and where two schedulers say different shares.
Result<ShareNumber> share_of_environment(const Environment& environment);

/// Reads "i/n", where i counts from 0. Fails with invalid_argument.
Result<ShareNumber> share_from_text(std::string_view text);

}  // namespace dequant::format
