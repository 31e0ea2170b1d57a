// A chunk: the part of a call that one thread dequantizes at once, by calls of the kernels.
#pragma once

#include "dequant/plan.h"
#include "execute/way.h"
#include "kernel/kernel.h"
#include "plan/regions.h"

namespace dequant {

/// What all chunks of one call share.
struct Job {
  const Plan& plan;
  const Buffers& buffers;
  const Table& table;
  Range elements;       ///< of the tensor, in the buffers x and y; strided: of `region`, from 0 on
  int64_t first_scale;  ///< index of the first scale, or range, in the buffers
  const Way& way;
  const Region* region = nullptr;  ///< of a strided plan
  /// With a Packing, and of blocks, codes of x are numbered from the start of the tensor, and this
  /// is the first byte of the tensor that the buffer holds.
  int64_t x_byte = 0;
};

/// Dequantizes chunk i of way.chunks: way.chunk consecutive elements of job.elements or, by
/// Loop::columns, way.chunk columns of all rows; of blocks, those of some whole blocks.
void run_chunk(const Job& job, size_t i) noexcept;

/// Dequantizes a whole tensor whose plan and buffers is_simple() accepts: one kernel call with
/// ordinary stores, without a Way or a Job.
void run_simple(const Plan& plan, const Buffers& buffers, const Table& table) noexcept;

}  // namespace dequant
