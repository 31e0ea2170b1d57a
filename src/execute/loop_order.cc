// Choosing a loop order: which dimension is transposed with the innermost one, and which dimensions
// change places so that parameters are loaded less often.
#include "execute/loop_order.h"

#include <algorithm>
#include <cstdlib>

#include "execute/gather.h"
#include "execute/parameters.h"

namespace dequant {
namespace {

/// Elements of the innermost dimension in a block of a transpose.
constexpr int64_t kBlock = 256;
/// Dimensions of fewer indices are not transposed.
constexpr int64_t kFewest = 16;

/// The dimensions in the order of the plan.
LoopOrder order_of_dimensions(const Plan& plan, const Region& region) {
  LoopOrder order;
  order.origin = region.origin;
  const bool zeros = has_zero_points(plan);
  for (Dimension d : region.dimensions()) {
    if (!zeros) d.zero_point = 0;
    order.list[order.rank++] = d;
  }
  if (order.rank == 0) order.list[order.rank++] = Dimension{};
  return order;
}

/// The dimension to transpose with the innermost one: that of the smallest stride in x. The
/// innermost one itself if there is nothing to transpose.
size_t densest(const LoopOrder& order) {
  const size_t last = order.rank - 1;
  const Dimension& inner = order.list[last];
  size_t best = last;
  if (inner.y != 1 || inner.size < kFewest) return last;
  for (size_t i = 0; i < last; ++i) {
    const Dimension& d = order.list[i];
    if (d.x != 0 && d.size >= kFewest && std::abs(d.x) < std::abs(order.list[best].x)) best = i;
  }
  return best;
}

/// Most elements of y within which dimensions change places: about those of a chunk.
constexpr int64_t kRegion = int64_t{256} << 10;

/// Moves dimensions that repeat parameters inward past dimensions that do not, so that parameters
/// are loaded less often. The dimensions of a tile keep their order.
void keep_params(LoopOrder& order) {
  if (repeats_params(order.list[order.rank - 1])) return;
  const Tile tile = Odometer(order.dimensions(), {}, 0).largest_tile(kTile);
  const size_t end = tile.count == 1 ? tile.outermost + 1 : tile.outermost;
  size_t begin = end;
  for (int64_t region = tile.elements; begin > 0; --begin) {
    region *= order.list[begin - 1].size;
    if (region > kRegion) break;
  }
  const auto list = order.list.begin();
  for (size_t i = begin; i < end; ++i) {
    if (!repeats_params(order.list[i])) std::rotate(list + begin++, list + i, list + i + 1);
  }
}

}  // namespace

int64_t LoopOrder::elements() const noexcept {
  int64_t count = 1;
  for (const Dimension& d : dimensions()) count *= d.size;
  return count;
}

LoopOrder loop_order_of(const Plan& plan, const Region& region, Phase phase) noexcept {
  LoopOrder order = order_of_dimensions(plan, region);
  const size_t chosen = densest(order);
  const size_t last = order.rank - 1;
  Dimension& inner = order.list[last];
  order.transposes = chosen != last;
  if (order.transposes) {
    // The two transposed dimensions become the innermost.
    std::rotate(order.list.begin() + chosen, order.list.begin() + chosen + 1,
                order.list.begin() + last);
  }
  const bool cut = order.transposes && inner.size >= 2 * kBlock;
  const int64_t blocks = inner.size / kBlock;
  if (phase == Phase::rest) {
    if (cut) order.origin.step(inner, blocks * kBlock);
    inner.size = cut ? inner.size % kBlock : 0;
    order.transposes = inner.size >= kFewest;
    return order;
  }
  if (!order.transposes) keep_params(order);
  if (!cut) return order;
  // The dimension of blocks is outside the two transposed dimensions.
  const auto by_blocks = [&](int64_t stride) { return stride * kBlock; };
  const Dimension of_blocks{.size = blocks,
                            .x = by_blocks(inner.x),
                            .scale = by_blocks(inner.scale),
                            .zero_point = by_blocks(inner.zero_point),
                            .y = by_blocks(inner.y),
                            .group_index = by_blocks(inner.group_index)};
  inner.size = kBlock;
  order.list[last + 1] = inner;
  order.list[last] = order.list[last - 1];
  order.list[last - 1] = of_blocks;
  ++order.rank;
  return order;
}

}  // namespace dequant
