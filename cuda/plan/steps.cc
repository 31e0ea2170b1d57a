// Arithmetic on the strides of steps.
#include "cuda/plan/steps.h"

#include <cstddef>

#include "cuda/plan/thread_tiles.h"

namespace dequant::cuda {
namespace {

/// True if two steps are one: the outer one goes on where the inner one ends.
bool are_one(const Step& outer, const Step& inner) {
  const auto goes_on = [&](int64_t Step::*stride) {
    return outer.*stride == inner.*stride * inner.size;
  };
  return !outer.has_blocks() && !inner.has_blocks() && goes_on(&Step::x) && goes_on(&Step::y) &&
         goes_on(&Step::scale) && goes_on(&Step::zero_point) && goes_on(&Step::group);
}

}  // namespace

bool divide(const Step& step, int64_t size, Step& outer, Step& inner) {
  const bool blocks = step.has_blocks();
  if (step.size % size != 0 || step.first % size != 0) return false;
  if (blocks && step.block % size != 0) return false;
  outer = inner = step;
  outer.size = step.size / size;
  outer.first = step.first / size;
  inner.size = size;
  inner.first = 0;
  outer.x *= size;
  outer.y *= size;
  outer.group *= size;
  if (blocks) {
    outer.block = step.block / size;
    inner.block = 1;
    inner.scale = inner.zero_point = 0;
  } else {
    outer.scale *= size;
    outer.zero_point *= size;
  }
  return true;
}

Steps without_whole_blocks(const Steps& steps) {
  Steps out;
  for (const Step& step : steps) {
    Step blocks, within;
    if (step.has_blocks() && divide(step, step.block, blocks, within)) {
      out.push_back(blocks);
      out.push_back(within);
    } else {
      out.push_back(step);
    }
  }
  return out;
}

bool is_simple(const Step& step) {
  const auto is_small = [](int64_t stride) { return stride >= 0 && stride <= UINT32_MAX; };
  return !step.has_blocks() && step.first == 0 && is_small(step.x) && is_small(step.y);
}

Steps merged(const Steps& steps) {
  Steps out;
  for (const Step& step : steps) {
    if (step.size == 1 && step.first == 0) continue;
    if (!out.empty() && are_one(out.back(), step)) {
      const int64_t size = out.back().size * step.size;
      out.back() = step;
      out.back().size = size;
    } else {
      out.push_back(step);
    }
  }
  return out;
}

bool count_first(Steps& steps, size_t rows, size_t vectors, int64_t tile_rows,
                 int64_t tile_vectors) {
  Step outer_rows, inner_rows, outer_vectors, inner_vectors;
  const bool divided = divide(steps[rows], tile_rows, outer_rows, inner_rows) ||
                       divide(steps[rows], tile_rows / 2, outer_rows, inner_rows);
  if (!divided || !divide(steps[vectors], tile_vectors, outer_vectors, inner_vectors)) return false;
  steps[rows] = outer_rows;
  steps[vectors] = outer_vectors;
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(vectors) + 1, inner_vectors);
  steps.push_back(inner_rows);
  return true;
}

void interleave(Steps& steps) {
  const size_t vectors = steps.size() - (steps.back().x == 2 ? 2 : 1);
  for (size_t rows = 0; rows < vectors; ++rows) {
    if (steps[rows].x != 4) continue;
    (void)count_first(steps, rows, vectors, kTileRows, kTileVectors);
    return;
  }
}

}  // namespace dequant::cuda
