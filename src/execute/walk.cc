// The dimensions of a plan put in order.
#include "execute/walk.h"

#include <cstdlib>

#include "plan/strided.h"

namespace dequant {
namespace {

/// Neighbours in y that are done before the next index of the other dimension.
constexpr int64_t kBlock = 256;
/// Fewer indices are not worth a transpose.
constexpr int64_t kFewest = 16;

Place origin_of(const Plan& plan) {
  const auto start = [&](int64_t Dimension::*stride) {
    return -reach(plan.dimensions, stride).lowest;
  };
  return {start(&Dimension::x), start(&Dimension::scale), start(&Dimension::zero_point),
          start(&Dimension::y)};
}

/// The dimensions in the order of the plan, but for those of one index.
Walk plain_walk(const Plan& plan) {
  Walk walk;
  walk.origin = origin_of(plan);
  // A zero point of a float is zero.
  const bool zeros = plan.has_zero_point && kind(plan.input) != Kind::floating;
  for (Dimension d : plan.dimensions) {
    if (d.size == 1) continue;
    if (!zeros) d.zero_point = 0;
    walk.list[walk.rank++] = d;
  }
  if (walk.rank == 0) walk.list[walk.rank++] = Dimension{};
  return walk;
}

/// The dimension that lies densest in x, if the innermost one is to be transposed with it; else the
/// innermost.
size_t densest(const Walk& walk) {
  const size_t last = walk.rank - 1;
  const Dimension& inner = walk.list[last];
  size_t best = last;
  if (inner.y != 1 || inner.size < kFewest) return last;
  for (size_t i = 0; i < last; ++i) {
    const Dimension& d = walk.list[i];
    if (d.x != 0 && d.size >= kFewest && std::abs(d.x) < std::abs(walk.list[best].x)) best = i;
  }
  return best;
}

}  // namespace

int64_t Walk::elements() const noexcept {
  int64_t count = 1;
  for (const Dimension& d : dimensions()) count *= d.size;
  return count;
}

std::array<Walk, 2> walks_of(const Plan& plan) noexcept {
  Walk walk = plain_walk(plan);
  Walk rest;
  rest.list[rest.rank++].size = 0;
  const size_t chosen = densest(walk);
  const size_t last = walk.rank - 1;
  if (chosen == last) return {walk, rest};

  // The others, then the two.
  std::rotate(walk.list.begin() + chosen, walk.list.begin() + chosen + 1, walk.list.begin() + last);
  walk.transposes = true;
  Dimension& inner = walk.list[last];
  if (inner.size < 2 * kBlock) return {walk, rest};
  const Dimension whole = inner;
  const int64_t blocks = whole.size / kBlock;
  if (whole.size % kBlock != 0) {
    rest = walk;
    rest.list[last].size = whole.size % kBlock;
    rest.transposes = rest.list[last].size >= kFewest;
    rest.origin.step(whole, blocks * kBlock);
  }
  inner.size = kBlock;
  // Blocks come before the two.
  std::copy_backward(walk.list.begin() + last - 1, walk.list.begin() + walk.rank,
                     walk.list.begin() + walk.rank + 1);
  ++walk.rank;
  const auto far = [&](int64_t stride) { return stride * kBlock; };
  walk.list[last - 1] = {blocks, far(whole.x), far(whole.scale), far(whole.zero_point),
                         far(whole.y)};
  return {walk, rest};
}

}  // namespace dequant
