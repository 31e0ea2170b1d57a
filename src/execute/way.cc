// The decisions of way_of() and the constants they depend on.
#include "execute/way.h"

#include <algorithm>
#include <numeric>

#include "checked.h"
#include "dequant/block.h"
#include "element/traits.h"
#include "execute/block_tiles.h"
#include "execute/cache.h"
#include "execute/column_tiles.h"
#include "execute/expanded_params.h"
#include "execute/gather.h"
#include "execute/index_tiles.h"
#include "execute/loop_order.h"
#include "execute/narrow_params.h"
#include "execute/packed_codes.h"
#include "execute/pair_tiles.h"
#include "execute/param_window.h"
#include "execute/parameters.h"
#include "execute/ranges.h"
#include "execute/row_tiles.h"
#include "execute/stages.h"
#include "plan/scale_spans.h"

namespace dequant {
namespace {

/// Output bytes of a chunk: about what a core's L2 cache holds.
constexpr int64_t kChunkBytes = 256 << 10;
/// Output bytes of a chunk of a streamed output of kLargeBytes or more. No cache holds such an
/// output, and larger chunks repeat the work per chunk, such as converting scales, less often.
constexpr int64_t kStreamedChunkBytes = 1 << 20;
constexpr int64_t kLargeBytes = 64 << 20;
/// Output bytes that stay in a core's own caches. Larger outputs are written in longer tiles,
/// except by the kernel for rows that share scales, whose tiles must stay in the nearest cache.
constexpr int64_t kNearBytes = int64_t{1} << 20;
/// Scales converted at once where results are streamed: converting more leaves memory idle.
constexpr int64_t kStreamedScales = 512;
/// Groups of more elements have so few scales that kStreamedScales makes no difference.
constexpr int64_t kStreamedGroup = 32;
/// Elements for which scales are expanded, or codes unpacked, at once.
constexpr int64_t kExpandedTile = ExpandedParams::kCapacity;
static_assert(kExpandedTile <= NarrowParams::kCapacity && kColumns <= kExpandedTile);
/// Rows of fewer elements with a scale for each element are expanded, many rows to a tile.
constexpr int64_t kShortRow = 256;
/// As many elements of any type fill whole bytes in x and whole cache lines in y.
constexpr int64_t kAligned = 64;
/// Vectors of an unrolled step of the kernels.
constexpr int64_t kVectors = 4;

// Of strided plans.

/// Rows that are contiguous in x and in y and have so many elements are dequantized where they lie,
/// one kernel call each; shorter rows are gathered into a tile: strided/*/padded_x_of_64.
constexpr int64_t kLongRow = 256;

int64_t width_of(Element element) { return traits(element).format.bits; }

bool streams(Stores stores, int64_t y_bytes) {
  if (stores == Stores::automatic) return y_bytes > cached_output_bytes();
  return stores == Stores::streaming;
}

/// True for groups of so many elements that one kernel call runs over many groups at full speed.
/// Where false, scales expanded to one for each element are faster.
bool suits_kernels(const Plan& plan, const Table& table, int64_t group) {
  const auto step = kVectors * static_cast<int64_t>(table.lanes);
  if (group >= kLongGroup || group % step == 0) return true;
  return !adds_offset(plan.rule) &&
         vectors_of_short_group(static_cast<size_t>(group), table.lanes) != 0;
}

/// True if the kernel for rows that share scales accepts rows whose starts lie `x_apart` elements
/// apart in x and `y_apart` in y. `y` is the address of the first row's results.
bool may_share(const Plan& plan, const Table& table, bool stream, int64_t x_apart, int64_t y_apart,
               uint64_t y) {
  if (adds_offset(plan.rule) || !has_plain_kernels(plan) || unpacks_codes(plan)) return false;
  if (table.shared_at(plan.input, plan.output) == nullptr) return false;
  if (x_apart < 0 || y_apart < 0 || x_apart * width_of(plan.input) % 8 != 0) return false;
  const auto line = static_cast<int64_t>(kCacheLine);
  return !stream || (y_apart * width_of(plan.output) / 8 % line == 0 && y % kCacheLine == 0);
}

/// For rows that share scales: the least common multiple of the row and of whole bytes and cache
/// lines, times as often as fits a tile, in elements; 0 if a row is too long for that.
int64_t period_of(const Layout& layout) {
  if (layout.row > kExpandedTile / 2) return 0;
  for (const int64_t aligned : {kAligned, int64_t{8}}) {
    const int64_t period = std::lcm(layout.row, aligned);
    if (period <= kExpandedTile) return kExpandedTile / period * period;
  }
  return 0;
}

/// True where a chunk is better some columns of all rows than consecutive elements: rows share
/// their scales, and groups are so short that expanding scales takes longer than the kernel.
bool chunks_are_columns(const Plan& plan, const Table& table, const Layout& layout,
                        int64_t elements) {
  if (!layout.rows_share_scales || layout.group == 0 || layout.group >= layout.row) return false;
  if (suits_kernels(plan, table, layout.group) || layout.row < 2 * kColumns) return false;
  if (layout.row * width_of(plan.input) % 8 != 0) return false;  // a row starts within a byte
  return elements / layout.row >= kSharedRows;
}

/// The loop of a packed plan, and how many scales are converted at once.
void set_loop(Way& way, const Plan& plan, const Table& table, const Layout& layout,
              int64_t elements) {
  if (is_documented(plan.rule)) {
    way.loop = Loop::formula;
    return;
  }
  if (plan.granularity == Granularity::per_tensor && !takes_ranges(plan.rule) &&
      !unpacks_codes(plan)) {
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
    // Rows that share scales are done tile by tile of columns, so that the scales of a tile stay in
    // the nearest cache for all rows.
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
  // Rows start at multiples of layout.row of the tensor; y begins with the range's first element.
  const int64_t y_width = width_of(plan.output) / 8;
  const uint64_t first_row = call.y_address - static_cast<uint64_t>(call.elements.begin * y_width);
  way.shares_rows = may_share(plan, table, way.stream, layout.row, layout.row, first_row);
  set_loop(way, plan, table, layout, elements);
  if (way.chunks > 1 && way.loop != Loop::formula &&
      chunks_are_columns(plan, table, layout, elements)) {
    way.loop = Loop::columns;
    way.chunk = kColumns;
    way.chunks = ceil_div(layout.row, way.chunk);
  }
}

/// Chunks are whole tiles, counted from the start of the first block.
void set_blocks(Way& way, BlockType type, const Call& call) {
  const int64_t begin = call.elements.begin / block_elements(type) * block_elements(type);
  way.loop = Loop::blocks;
  way.chunk = ceil_div(way.chunk, kBlockTile) * kBlockTile;
  way.chunks = ceil_div(call.elements.end - begin, way.chunk);
}

StridedWay strided_way(const Plan& plan, const Table& table, const Region& region, bool stream,
                       Phase phase) {
  const LoopOrder order = loop_order_of(plan, region, phase);
  const Dimension& inner = order.list[order.rank - 1];
  const Dimension outer = order.rank > 1 ? order.list[order.rank - 2] : Dimension{};
  const bool one_scale = repeats_params(inner);
  const bool contiguous = inner.x == 1 && inner.y == 1;
  StridedWay out{.elements = order.elements(), .row = inner.size, .transposes = order.transposes};
  out.in_place = contiguous && !unpacks_codes(plan) ? kLongRow : INT64_MAX;
  out.most_in_place = one_scale ? INT64_MAX : kParams;
  out.shares_rows = contiguous && order.rank > 1 && !one_scale && inner.size <= kParams &&
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
  const auto name_of_loop = [&]() -> std::string {
    switch (loop) {
      case Loop::one_scale: return "one scale";
      case Loop::formula: return "formula";
      case Loop::groups: return "groups";
      case Loop::rows: return shares_rows ? "rows, shared" : "rows";
      case Loop::repeated: return "repeated rows";
      case Loop::expanded: return "expanded";
      case Loop::columns: return shares_rows ? "columns, shared" : "columns";
      case Loop::row_tiles: return "row tiles";
      case Loop::index_tiles: return "index tiles";
      case Loop::column_tiles: return "column tiles";
      case Loop::pair_tiles: return "pair tiles";
      case Loop::blocks: return "blocks";
      case Loop::strided: break;
    }
    std::string text = "strided";
    const char* separator = ": ";
    for (const StridedWay& phase : strided) {
      if (phase.elements == 0) continue;
      text.append(separator).append(phase.name());
      separator = ", ";
    }
    return text;
  };
  return name_of_loop() + (unpacks ? ", unpacked" : "") + (stages ? ", in stages" : "") +
         (stream ? ", streamed" : "");
}

Way way_of(const Plan& plan, const Table& table, const Call& call) noexcept {
  const int64_t elements = call.elements.end - call.elements.begin;
  const int64_t y_width = width_of(plan.output) / 8;
  Way way;
  way.stream = streams(call.stores, call.y_bytes);
  way.unpacks = unpacks_codes(plan);
  way.stages = has_stages(plan);
  const bool large = way.stream && elements * y_width >= kLargeBytes;
  const bool small = elements * y_width <= kChunkBytes;
  way.chunk = small ? elements : (large ? kStreamedChunkBytes : kChunkBytes) / y_width;
  way.chunks = elements == 0 ? 0 : ceil_div(elements, way.chunk);
  if (const auto type = plan.parameters.x_blocks) {
    if (elements != 0) set_blocks(way, *type, call);
  } else if (plan.granularity == Granularity::strided) {
    way.loop = Loop::strided;
    if (elements == 0) return way;  // there is no region
    const Region region = call.region != nullptr ? *call.region : first_region(plan);
    const auto set_tiles = [&](Loop loop, const MatrixTiles& tiles) {
      way.loop = loop;
      way.chunk = tiles.chunk(way.chunk);
      way.chunks = ceil_div(elements, way.chunk);
      return way;
    };
    if (const auto tiles = index_tiles_of(plan, region)) {
      return set_tiles(Loop::index_tiles, *tiles);
    }
    if (const auto tiles = column_tiles_of(plan, region)) {
      return set_tiles(Loop::column_tiles, *tiles);
    }
    if (const auto tiles = pair_tiles_of(plan, region)) {
      return set_tiles(Loop::pair_tiles, *tiles);
    }
    if (const auto tiles = row_tiles_of(plan, region)) return set_tiles(Loop::row_tiles, *tiles);
    way.strided = {strided_way(plan, table, region, way.stream, Phase::blocks),
                   strided_way(plan, table, region, way.stream, Phase::rest)};
  } else {
    set_packed(way, plan, table, call);
  }
  return way;
}

}  // namespace dequant
