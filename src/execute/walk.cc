// The dimensions of a plan put in order.
#include "execute/walk.h"

#include <algorithm>
#include <cstdlib>

#include "execute/gather.h"
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

/// Elements of y among which the order of dimensions may change: about those of a chunk.
constexpr int64_t kRegion = int64_t{256} << 10;

/// Brings dimensions that repeat sides inside others near them, so that sides are made ready less often. What
/// is done at once, a box, stays as it is.
void keep_sides(Walk& walk) {
  if (repeats_sides(walk.list[walk.rank - 1])) return;
  const Box box = Odometer(walk.dimensions(), {}, 0).largest_box(kTile);
  const size_t end = box.count == 1 ? box.outermost + 1 : box.outermost;
  size_t begin = end;
  for (int64_t region = box.elements; begin > 0; --begin) {
    region *= walk.list[begin - 1].size;
    if (region > kRegion) break;
  }
  const auto list = walk.list.begin();
  for (size_t i = begin; i < end; ++i) {
    if (!repeats_sides(walk.list[i])) std::rotate(list + begin++, list + i, list + i + 1);
  }
}

}  // namespace

int64_t Walk::elements() const noexcept {
  int64_t count = 1;
  for (const Dimension& d : dimensions()) count *= d.size;
  return count;
}

Walk walk_of(const Plan& plan, Share share) noexcept {
  Walk walk = plain_walk(plan);
  const size_t chosen = densest(walk);
  const size_t last = walk.rank - 1;
  Dimension& inner = walk.list[last];
  walk.transposes = chosen != last;
  if (walk.transposes) {
    // The others, then the two.
    std::rotate(walk.list.begin() + chosen, walk.list.begin() + chosen + 1,
                walk.list.begin() + last);
  }
  const bool cut = walk.transposes && inner.size >= 2 * kBlock;
  const int64_t blocks = inner.size / kBlock;
  if (share == Share::rest) {
    if (cut) walk.origin.step(inner, blocks * kBlock);
    inner.size = cut ? inner.size % kBlock : 0;
    walk.transposes = inner.size >= kFewest;
    return walk;
  }
  if (!walk.transposes) keep_sides(walk);
  if (!cut) return walk;
  // Blocks come before the two.
  const auto far = [&](int64_t stride) { return stride * kBlock; };
  const Dimension of_blocks{blocks, far(inner.x), far(inner.scale), far(inner.zero_point),
                            far(inner.y)};
  inner.size = kBlock;
  walk.list[last + 1] = inner;
  walk.list[last] = walk.list[last - 1];
  walk.list[last - 1] = of_blocks;
  ++walk.rank;
  return walk;
}

}  // namespace dequant
