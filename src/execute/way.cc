// The decisions of way_of(), each beside the constant that it turns on.
#include "execute/way.h"

#include <algorithm>
#include <numeric>

#include "checked.h"
#include "element/traits.h"
#include "execute/cache.h"
#include "execute/expanded_params.h"
#include "execute/gather.h"
#include "execute/loop_order.h"
#include "execute/narrow_params.h"
#include "execute/param_window.h"
#include "execute/parameters.h"
#include "execute/ranges.h"
#include "plan/scale_spans.h"

namespace dequant {
namespace {

/// Output bytes of a chunk: about what a core's L2 cache holds.
constexpr int64_t kChunkBytes = 256 << 10;
/// The same of streamed outputs from kLargeBytes on: they never stay in a cache, and what is done
/// once for a chunk, as converting scales, is done less often.
constexpr int64_t kStreamedChunkBytes = 1 << 20;
constexpr int64_t kLargeBytes = 64 << 20;
/// Outputs that stay in a core's own caches. Larger ones are better written in longer pieces, but
/// by kernels for rows that share scales: these make more of a tile than scales.
constexpr int64_t kNearBytes = int64_t{1} << 20;
/// Scales loaded at once where results are streamed: while more are converted, memory is idle.
constexpr int64_t kStreamedScales = 512;
/// Longer groups have so few scales that it does not matter.
constexpr int64_t kStreamedGroup = 32;
/// Elements for which scales are expanded, or codes unpacked, at once.
constexpr int64_t kExpandedTile = ExpandedParams::kCapacity;
static_assert(kExpandedTile <= NarrowParams::kCapacity && kColumns <= kExpandedTile);
/// Rows below this, with a scale for each element, are expanded many at once.
constexpr int64_t kShortRow = 256;
/// Elements that fill bytes and cache lines whatever the types.
constexpr int64_t kAligned = 64;
/// Vectors that kernels handle together.
constexpr int64_t kVectors = 4;

// Of strided plans.

/// Rows of neighbours in x and y from here on are dequantized where they lie, one by one; shorter
/// ones together with others, through a tile: strided/*/padded_x_of_64.
constexpr int64_t kLong = 256;

int64_t width_of(Element element) { return traits(element).format.bits; }

bool streams(Stores stores, int64_t y_bytes) {
  if (stores == Stores::automatic) return y_bytes > cached_output_bytes();
  return stores == Stores::streaming;
}

/// True for groups that kernels do at full speed one after another; in shorter ones each element is
/// better given a scale of its own.
bool suits_kernels(const Plan& plan, const Table& table, int64_t group) {
  const auto turn = kVectors * static_cast<int64_t>(table.lanes);
  if (group >= kLongGroup || group % turn == 0) return true;
  return !adds_offset(plan.rule) &&
         vectors_of_short_group(static_cast<size_t>(group), table.lanes) != 0;
}

/// True if the kernel for many rows takes rows that lie so many elements apart. `y` is the address
/// of the first one.
bool may_share(const Plan& plan, const Table& table, bool stream, int64_t x_apart, int64_t y_apart,
               uint64_t y) {
  if (adds_offset(plan.rule) || has_float_zero_points(plan)) return false;
  if (table.shared_at(plan.input, plan.output) == nullptr) return false;
  if (x_apart < 0 || y_apart < 0 || x_apart * width_of(plan.input) % 8 != 0) return false;
  const auto line = static_cast<int64_t>(kCacheLine);
  return !stream || (y_apart * width_of(plan.output) / 8 % line == 0 && y % kCacheLine == 0);
}

/// Elements after which rows that share scales repeat them in whole bytes and cache lines, times as
/// often as fits a tile; 0 if rows are too long for that.
int64_t period_of(const Layout& layout) {
  if (layout.row > kExpandedTile / 2) return 0;
  for (const int64_t aligned : {kAligned, int64_t{8}}) {
    const int64_t period = std::lcm(layout.row, aligned);
    if (period <= kExpandedTile) return kExpandedTile / period * period;
  }
  return 0;
}

/// True where columns of all rows make better chunks than elements from front to back: rows share
/// their scales, and groups are so short that expanding these costs more than the kernel.
bool goes_by_columns(const Plan& plan, const Table& table, const Layout& layout, int64_t elements) {
  if (!layout.rows_share_scales || layout.group == 0 || layout.group >= layout.row) return false;
  if (suits_kernels(plan, table, layout.group) || layout.row < 2 * kColumns) return false;
  if (layout.row * width_of(plan.input) % 8 != 0) return false;  // rows would start within a byte
  return elements / layout.row >= kSharedRows;
}

/// Which loop a packed plan takes, and how many scales it prepares at once.
void set_loop(Way& way, const Plan& plan, const Table& table, const Layout& layout,
              int64_t elements) {
  if (is_documented(plan.rule)) {
    way.loop = Loop::formula;
    return;
  }
  if (plan.granularity == Granularity::per_tensor && !takes_ranges(plan.rule)) {
    way.loop = Loop::one_scale;
    return;
  }
  const int64_t period = layout.rows_share_scales && layout.row < elements ? period_of(layout) : 0;
  const bool on_bytes = layout.group >= layout.row || layout.group * width_of(plan.input) % 8 == 0;
  if (period != 0) {
    way.loop = Loop::repeated;
    way.tile = period;
  } else if (layout.group != 0 && on_bytes && suits_kernels(plan, table, layout.group)) {
    way.loop = Loop::groups;
    way.prefetches = way.stream && layout.group <= kStreamedGroup;
    way.tile = way.prefetches ? kStreamedScales : ParamWindow::kCapacity;
  } else if (layout.group == 0 && (layout.rows_share_scales || layout.row >= kShortRow)) {
    // Rows that share scales are done a tile of columns after the other, so that the scales of a
    // tile stay in the nearest cache.
    const bool near = elements * width_of(plan.output) / 8 <= kNearBytes || way.shares_rows;
    way.loop = Loop::rows;
    way.prefetches = way.stream;
    way.tile = near ? kExpandedTile : ParamWindow::kCapacity;
    way.tile_of_one_row = way.stream ? kStreamedScales : way.tile;
  } else {
    way.loop = Loop::expanded;
    way.tile = kExpandedTile;
  }
}

void set_packed(Way& way, const Plan& plan, const Table& table, const Call& call) {
  const Layout layout = layout_of(plan);
  const int64_t elements = call.elements.end - call.elements.begin;
  // Rows start at multiples of layout.row, of which y holds those from the range on.
  const int64_t y_width = width_of(plan.output) / 8;
  const uint64_t first_row = call.y_address - static_cast<uint64_t>(call.elements.begin * y_width);
  way.shares_rows = may_share(plan, table, way.stream, layout.row, layout.row, first_row);
  set_loop(way, plan, table, layout, elements);
  if (way.chunks > 1 && way.loop != Loop::formula &&
      goes_by_columns(plan, table, layout, elements)) {
    way.loop = Loop::columns;
    way.chunk = kColumns;
    way.chunks = ceil_div(layout.row, way.chunk);
  }
}

StridedWay strided_way(const Plan& plan, const Table& table, const Region& region, bool stream,
                       Phase phase) {
  const LoopOrder order = loop_order_of(plan, region, phase);
  const Dimension& inner = order.list[order.rank - 1];
  const Dimension outer = order.rank > 1 ? order.list[order.rank - 2] : Dimension{};
  const bool one_scale = repeats_params(inner);
  const bool neighbours = inner.x == 1 && inner.y == 1;
  StridedWay out{.elements = order.elements(), .row = inner.size, .transposes = order.transposes};
  out.in_place = neighbours ? kLong : INT64_MAX;
  out.most_in_place = one_scale ? INT64_MAX : kParams;
  out.shares_rows = neighbours && order.rank > 1 && !one_scale && inner.size <= kParams &&
                    repeats_params(outer) && may_share(plan, table, stream, outer.x, outer.y, 0);
  return out;
}

}  // namespace

std::string_view StridedWay::name() const noexcept {
  if (transposes) return "transpose";
  if (row < in_place) return "tiles";
  return shares_rows ? "rows in place, shared" : "rows in place";
}

std::string Way::name() const {
  const auto finite_normal = [&]() -> std::string {
    switch (loop) {
      case Loop::one_scale: return "one scale";
      case Loop::formula: return "formula";
      case Loop::groups: return "groups";
      case Loop::rows: return shares_rows ? "rows, shared" : "rows";
      case Loop::repeated: return "repeated rows";
      case Loop::expanded: return "expanded";
      case Loop::columns: return shares_rows ? "columns, shared" : "columns";
      case Loop::strided: break;
    }
    std::string text = "strided: ";
    for (const StridedWay& phase : strided) {
      if (phase.elements == 0) continue;
      if (text.back() != ' ') text += ", ";
      text += phase.name();
    }
    return text;
  };
  return finite_normal() + (stream ? ", streamed" : "");
}

Way way_of(const Plan& plan, const Table& table, const Call& call) noexcept {
  const int64_t elements = call.elements.end - call.elements.begin;
  const int64_t y_width = width_of(plan.output) / 8;
  Way way;
  way.stream = streams(call.stores, call.y_bytes);
  const bool large = way.stream && elements * y_width >= kLargeBytes;
  const bool small = elements * y_width <= kChunkBytes;
  way.chunk = small ? elements : (large ? kStreamedChunkBytes : kChunkBytes) / y_width;
  way.chunks = elements == 0 ? 0 : ceil_div(elements, way.chunk);
  if (plan.granularity == Granularity::strided) {
    way.loop = Loop::strided;
    const Region region = call.region != nullptr ? *call.region : first_region(plan);
    way.strided = {strided_way(plan, table, region, way.stream, Phase::blocks),
                   strided_way(plan, table, region, way.stream, Phase::rest)};
  } else {
    set_packed(way, plan, table, call);
  }
  return way;
}

}  // namespace dequant
