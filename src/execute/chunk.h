// One chunk of a dequantization: where a plan meets the kernels.
#pragma once

#include "dequant/plan.h"
#include "execute/way.h"
#include "kernel/kernel.h"
#include "plan/regions.h"

namespace dequant {

/// All that the chunks of one call share. `elements` is what the buffers x and y hold,
/// `first_scale` the index of the first scale they hold. Of a strided plan: the elements of
/// `region`, counted from 0.
struct Job {
  const Plan& plan;
  const Buffers& buffers;
  const Table& table;
  Range elements;
  int64_t first_scale;
  const Way& way;
  const Region* region = nullptr;
};

/// Dequantizes chunk i of way.chunks: elements of job.elements from front to back, or columns of
/// all of their rows.
void run_chunk(const Job& job, size_t i) noexcept;

/// Dequantizes the whole of a small tensor with one scale, which is_simple() has found sound,
/// through the caches: Loop::one_scale without what chunks need.
void run_simple(const Plan& plan, const Buffers& buffers, const Table& table) noexcept;

}  // namespace dequant
