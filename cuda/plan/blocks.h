// How a plan of blocks is launched.
#pragma once

#include <algorithm>

#include "cuda/plan/block_plan.h"
#include "dequant/status.h"

namespace dequant::cuda {

/// Of one launch, whose vectors a SmallDivisor divides.
inline constexpr int64_t kMostElementsOfLaunch = int64_t{1} << 32;

/// The elements of a plan that whole blocks of threads compute in vectors; none if addresses are
/// not aligned.
Range elements_in_vectors(const Computation& p) noexcept;

/// The BlockPlan of elements in vectors.
BlockPlan block_plan(const Computation& p, Range elements) noexcept;

/// The plan with other elements, one for each thread.
Computation single_elements(const Computation& p, Range elements) noexcept;

/// Calls single(Computation) and vectors(BlockPlan) for plans that together have all elements,
/// until a call returns an error.
template <class Single, class Vectors>
Status for_each_block_launch(const Computation& p, const Single& single, const Vectors& vectors) {
  const Range all = p.elements;
  const Range middle = elements_in_vectors(p);
  if (all.begin < middle.begin) {
    DEQUANT_CHECK(single(single_elements(p, {all.begin, middle.begin})));
  }
  for (int64_t at = middle.begin; at < middle.end; at += kMostElementsOfLaunch) {
    const int64_t end = std::min(at + kMostElementsOfLaunch, middle.end);
    DEQUANT_CHECK(vectors(block_plan(p, {at, end})));
  }
  if (middle.end < all.end) return single(single_elements(p, {middle.end, all.end}));
  return {};
}

}  // namespace dequant::cuda
