// The loops of packed plans over the elements of a chunk: one for each value of Loop.
#include "execute/chunk.h"

#include <algorithm>
#include <cstring>

#include "checked.h"
#include "element/codes.h"
#include "execute/block_tiles.h"
#include "execute/column_tiles.h"
#include "execute/expanded_params.h"
#include "execute/float_environment.h"
#include "execute/index_tiles.h"
#include "execute/kernel_calls.h"
#include "execute/narrow_params.h"
#include "execute/packed_codes.h"
#include "execute/pair_tiles.h"
#include "execute/param_window.h"
#include "execute/ranges.h"
#include "execute/row_tiles.h"
#include "execute/strided.h"
#include "execute/tiles.h"
#include "execute/unpack.h"
#include "kernel/lut.h"
#include "kernel/targets.h"
#include "plan/packing.h"
#include "plan/scale_spans.h"

namespace dequant {
namespace {

/// Elements unpacked at once where packed codes start within a byte; a multiple of kAligned.
constexpr int64_t kTile = 2048;
/// As many elements of any type fill whole bytes in x and whole cache lines in y.
constexpr int64_t kAligned = 64;

class Chunk {
 public:
  Chunk(const Job& job, Range elements) noexcept
      : job_(job),
        calls_(job),
        elements_(elements),
        way_(job.way),
        layout_(layout_of(job.plan)),
        width_(bits(job.plan.input)),
        codes_(job.plan.input, job.plan.parameters.x_packing, job.table, job.buffers.x, job.x_byte),
        first_code_(is_packing(job.plan.parameters.x_packing) ? 0 : job.elements.begin),
        window_(job.plan, job.buffers, job.table.helpers, job.first_scale) {}

  void run() noexcept {
    switch (way_.loop) {
      case Loop::formula: return run_formula();
      case Loop::repeated: return run_repeated();
      case Loop::groups: return run_groups();
      case Loop::rows: return run_rows();
      default: return run_expanded();
    }
  }

  /// Some columns of all rows that have elements in the chunk.
  void run_all_rows(Range columns) noexcept {
    ExpandedParams expanded(layout_, job_.table.helpers, window_);
    const int64_t count = columns.end - columns.begin;
    const int64_t start = elements_.begin / layout_.row * layout_.row + columns.begin;
    run_tile(start, count, expanded.of(start, count), elements_);
  }

 private:
  const uint8_t* x_at(int64_t element) const {
    return reinterpret_cast<const uint8_t*>(job_.buffers.x.data()) +
           (element - job_.elements.begin) * width_ / 8;
  }
  uint8_t* y_at(int64_t element) const {
    return reinterpret_cast<uint8_t*>(job_.buffers.y.data()) +
           (element - job_.elements.begin) * calls_.y_size();
  }
  /// True if kernels can read the codes from here on where they lie.
  bool in_place(int64_t element) const {
    return !way_.unpacks && (element - job_.elements.begin) * width_ % 8 == 0;
  }

  /// One kernel call or, where codes must be unpacked, one for each tile of unpacked codes.
  void call(ScaleLayout scale_layout, int64_t begin, int64_t count, int64_t group, Params params,
            size_t prefetch_distance = kPrefetchDistanceX) const noexcept {
    const Element x = job_.plan.input;
    if (in_place(begin)) {
      return calls_.call(x, scale_layout, x_at(begin), y_at(begin), count, group, params,
                         prefetch_distance);
    }
    const bool per_group = scale_layout == ScaleLayout::per_group;
    alignas(64) uint8_t codes[kTile + Helpers::kUnpackSlack];
    for (int64_t i = 0, n = 0; i < count; i += n) {
      n = tile_size(scale_layout, i, count, group, kTile);
      codes_.unpack(begin + i - first_code_, 1, n, codes);
      const Params own = advanced(params, per_group ? i / group : i);
      calls_.call(unpacked(x), scale_layout, codes, y_at(begin + i), n, std::min(group, n), own);
    }
  }

  /// Groups for which suits_kernels() of way.cc is true.
  void run_groups() noexcept {
    for_each_scale_span(layout_, elements_.begin, elements_.end, [&](ScaleSpan s) {
      while (s.count > 0) {
        const int64_t group = std::min(s.group, s.count);
        // A group whose first code starts within a byte has kernel calls of its own.
        const bool whole = way_.unpacks || in_place(s.begin);
        const bool single = !whole || group == s.count;
        const int64_t groups = single ? 1 : std::min(s.count / group, way_.tile);
        const int64_t count = single ? group : groups * group;
        const Params params = window_.load(s.scale, groups);
        if (way_.prefetches) window_.fetch(s.scale + groups, groups);
        call(ScaleLayout::per_group, s.begin, count, group, params);
        s.begin += count;
        s.count -= count;
        s.scale += groups;
      }
    });
  }

  /// A scale for each element of a row. Rows that share scales are done tile by tile of columns:
  /// the parameters of a tile stay in the nearest cache for all of these rows.
  void run_rows() noexcept {
    const int64_t row = layout_.row;
    for (int64_t begin = elements_.begin; begin < elements_.end;) {
      const int64_t r = begin / row;
      int64_t end = std::min((r + rows_from(r)) * row, elements_.end);
      Range columns{0, row};
      if (end - begin < 2 * row) {
        end = std::min(end, (r + 1) * row);
        columns = {begin - r * row, end - r * row};
      }
      const bool single = end - begin <= row;
      const int64_t tile = single ? way_.tile_of_one_row : way_.tile;
      for (int64_t c = columns.begin; c < columns.end; c += tile) {
        const int64_t n = std::min(tile, columns.end - c);
        const int64_t scale = layout_.row_scale(r) + c;
        const Params params = single ? window_.load_per_element(scale, n) : window_.load(scale, n);
        const int64_t later = single ? scale + 2 * n : layout_.row_scale(end / row) + c;
        if (way_.prefetches) window_.fetch(later, n);
        run_tile(r * row + c, n, params, {begin, end});
      }
      begin = end;
    }
  }

  /// How many rows from row r on share their scales.
  int64_t rows_from(int64_t r) const {
    if (layout_.rows_share_scales) return ceil_div(elements_.end, layout_.row) - r;
    const int64_t in_axis = r % layout_.axis;
    return std::min(layout_.block - in_axis % layout_.block, layout_.axis - in_axis);
  }

  /// A tile of `columns` columns, the first of which has its first element at `start`: the elements
  /// of all rows that lie within `range`.
  void run_tile(int64_t start, int64_t columns, const Params& params, Range range) noexcept {
    const int64_t row = layout_.row;
    while (start < range.end) {
      // Rows that lie within the range with all columns of the tile.
      const int64_t rows =
          way_.shares_rows && start >= range.begin ? (range.end - start - columns + row) / row : 0;
      if (rows >= kSharedRows) {
        calls_.shared(x_at(start), y_at(start), columns, rows, {row, row}, params);
        start += rows * row;
        continue;
      }
      const int64_t from = std::max(start, range.begin);
      const int64_t n = std::min(start + columns, range.end) - from;
      if (n > 0 && way_.stream && n < row && range.end - range.begin > row) {
        stream_columns(from, n, advanced(params, from - start));
      } else if (n > 0) {
        call(ScaleLayout::per_element, from, n, 1, advanced(params, from - start));
      }
      start += row;
    }
  }

  /// Streams some columns of one row. The codes that are loaded next are those of the same columns
  /// of the next row: the last elements prefetch them.
  [[gnu::noinline]] void stream_columns(int64_t begin, int64_t count,
                                        const Params& params) const noexcept {
    const int64_t to_next_row = (layout_.row - count) * width_ / 8;
    const auto prefetch_distance =
        std::min(static_cast<int64_t>(kPrefetchDistanceX), count * width_ / 8);
    const int64_t first = (count - prefetch_distance * 8 / width_) / kAligned * kAligned;
    if (first > 0) call(ScaleLayout::per_element, begin, first, 1, params);
    call(ScaleLayout::per_element, begin + first, count - first, 1, advanced(params, first),
         static_cast<size_t>(to_next_row + prefetch_distance));
  }

  void run_repeated() noexcept {
    const int64_t period = way_.tile;
    ExpandedParams expanded(layout_, job_.table.helpers, window_);
    const int64_t first = std::min(period, elements_.end - elements_.begin);
    NarrowParams narrow(job_);
    const Params params = narrow.of(expanded.of_equal_rows(elements_.begin, first), first);
    for (int64_t begin = elements_.begin; begin < elements_.end; begin += period) {
      call(ScaleLayout::per_element, begin, std::min(period, elements_.end - begin), 1, params);
    }
  }

  void run_expanded() noexcept {
    ExpandedParams expanded(layout_, job_.table.helpers, window_);
    for (int64_t begin = elements_.begin; begin < elements_.end; begin += way_.tile) {
      const int64_t count = std::min(way_.tile, elements_.end - begin);
      call(ScaleLayout::per_element, begin, count, 1, expanded.of(begin, count));
    }
  }

  void run_formula() const noexcept {
    const auto range = [](std::span<const std::byte> bytes) {
      return float_value(Element::float32, load_code(32, bytes.data(), 0));
    };
    const Buffers& b = job_.buffers;
    const Element x = job_.plan.input;
    const AffineFormula formula =
        documented_formula(job_.plan.rule, x, range(b.min_range), range(b.max_range));
    calls_.formula(x, x_at(elements_.begin), y_at(elements_.begin), elements_.end - elements_.begin,
                   formula);
  }

  const Job& job_;
  KernelCalls calls_;
  Range elements_;  ///< of the chunk
  const Way& way_;
  Layout layout_;
  int width_;
  PackedCodes codes_;
  int64_t first_code_;  ///< the element of code 0
  ParamWindow window_;
};

/// The scale and the zero point of a plan that has one of each, and where some elements lie.
struct OneScale {
  float scale = 0;
  int32_t zero = 0;
  const uint8_t* x;
  uint8_t* y;

  /// x and y of the element `from`, counted from the first one in the buffers.
  OneScale(const Plan& plan, const Buffers& buffers, int64_t from) noexcept
      : x(reinterpret_cast<const uint8_t*>(buffers.x.data()) +
          from * traits(plan.input).format.bits / 8),
        y(reinterpret_cast<uint8_t*>(buffers.y.data()) +
          from * traits(plan.output).format.bits / 8) {}

  /// Loads both for a plan that is_simple() accepts: a float32 scale, an integer zero point.
  void load_simple(const Plan& plan, const Buffers& buffers) noexcept {
    std::memcpy(&scale, buffers.scale.data(), sizeof scale);
    if (!plan.has_zero_point) return;
    const ElementTraits& of = traits(plan.input);
    const int unused = of.kind == Kind::signed_integer ? 32 - of.format.bits : 0;
    const uint32_t code = load_code(of.format.bits, buffers.zero_point.data(), 0);
    zero = static_cast<int32_t>(code << unused) >> unused;
  }

  void load(const Plan& plan, const Buffers& buffers) noexcept {
    load_scales(plan, buffers, 0, 0, 1, &scale);
    load_zeros(plan, buffers, 0, 0, 1, &zero);
  }

  bool finite_normal(Element input) const noexcept {
    return is_finite_normal(scale, !has_infinity(input));
  }
};

/// One kernel call, without scale spans and without a ParamWindow: setting these up takes longer
/// than the elements of a small tensor.
void call_kernel(const Plan& plan, const Table& table, const OneScale& one,
                 int64_t count) noexcept {
  const auto n = static_cast<size_t>(count);
  table.at(plan.input, plan.output,
           ScaleLayout::per_group)({.x = one.x,
                                    .y = one.y,
                                    .count = n,
                                    .group = n,
                                    .scale = &one.scale,
                                    .zero = &one.zero,
                                    .lut = lut_of(plan.input),
                                    .finite_normal = one.finite_normal(plan.input),
                                    .scales_of_y = scales_are_of_output(plan)});
}

void run_one_scale(const Job& job, Range elements) noexcept {
  const Plan& plan = job.plan;
  OneScale one(plan, job.buffers, elements.begin - job.elements.begin);
  one.load(plan, job.buffers);
  const int64_t count = elements.end - elements.begin;
  const bool simple = !job.way.stream && !job.way.stages && !plan.parameters.codebook;
  if (simple) return call_kernel(plan, job.table, one, count);
  KernelCalls(job).call(plan.input, ScaleLayout::per_group, one.x, one.y, count, count,
                        {&one.scale, &one.zero, nullptr, one.finite_normal(plan.input)});
}

[[gnu::noinline]] void run_packed(const Job& job, Range elements) noexcept {
  Chunk(job, elements).run();
}

}  // namespace

void run_simple(const Plan& plan, const Buffers& buffers, const Table& table) noexcept {
  const FloatEnvironment environment;
  OneScale one(plan, buffers, 0);
  one.load_simple(plan, buffers);
  call_kernel(plan, table, one, plan.inner);
}

void run_chunk(const Job& job, size_t i) noexcept {
  const FloatEnvironment environment;
  const Way& way = job.way;
  const int64_t first = static_cast<int64_t>(i) * way.chunk;
  if (way.loop == Loop::blocks) {
    run_blocks(job, first);
  } else if (way.loop == Loop::columns) {
    const int64_t row = layout_of(job.plan).row;
    Chunk(job, job.elements).run_all_rows({first, std::min(first + way.chunk, row)});
  } else {
    const int64_t begin = job.elements.begin + first;
    const Range elements{begin, std::min(begin + way.chunk, job.elements.end)};
    if (way.loop == Loop::one_scale) {
      run_one_scale(job, elements);
    } else if (way.loop == Loop::strided) {
      run_strided(job, elements);
    } else if (way.loop == Loop::row_tiles) {
      run_row_tiles(job, elements);
    } else if (way.loop == Loop::column_tiles) {
      run_column_tiles(job, elements);
    } else if (way.loop == Loop::pair_tiles) {
      run_pair_tiles(job, elements);
    } else if (way.loop == Loop::index_tiles) {
      run_index_tiles(job, elements);
    } else {
      run_packed(job, elements);
    }
  }
  if (way.stream) flush_streams();
}

}  // namespace dequant
