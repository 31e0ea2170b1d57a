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

/// Columns that are done together.
inline constexpr int64_t kColumns = 2048;

/// The elements of a row where columns of all rows of job.elements are better done together than chunks
/// from front to back, else 0: rows share their scales, and runs are so short that giving each element its
/// scale costs more than the kernel.
int64_t row_of_columns(const Job& job) noexcept;

/// Dequantizes some columns of every row, at most kColumns.
void run_columns(const Job& job, Range columns) noexcept;

}  // namespace dequant
