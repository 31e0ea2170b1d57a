// Plans of a packed tensor whose scales are a smaller tensor of the same rank: each dimension is
// divided into blocks, of which the last may be short.
#pragma once

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant {

/// The type of a tensor by the name that messages give it.
struct NamedTensor {
  const char* name;
  TensorType type;
};

/// Completes a plan (elements, parameters) whose zero points, if the plan has any, have the shape
/// of the scales. One scale, rank 1 with a scale for each row, or as many blocks in each dimension
/// as `block` gives; without `block` each dimension of the scales is 1 or that of x. Fails with
/// invalid_argument.
Result<Plan> grid_plan(Plan plan, const NamedTensor& x, const NamedTensor& scale, Shape block);

}  // namespace dequant
