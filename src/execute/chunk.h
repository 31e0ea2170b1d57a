// One chunk of a dequantization: where a plan's runs meet the kernels.
#pragma once

#include "dequant/plan.h"
#include "kernel/row.h"
#include "plan/runs.h"

namespace dequant {

/// All that the chunks of one call share. `elements` is what the buffers x and y hold, `first_scale`
/// the index of the first scale they hold.
struct Job {
  const Plan& plan;
  const Buffers& buffers;
  const Table& table;
  Range elements;
  int64_t first_scale;
  bool stream;
};

/// Dequantizes a part of job.elements. part.begin lies a multiple of 8 after job.elements.begin.
void run_chunk(const Job& job, Range part) noexcept;

}  // namespace dequant
