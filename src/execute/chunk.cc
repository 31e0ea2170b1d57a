// Walking the elements of a chunk: each granularity in the way that costs least besides the kernels.
#include "execute/chunk.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "checked.h"
#include "element/codes.h"
#include "execute/expanded.h"
#include "execute/float_environment.h"
#include "execute/narrow_sides.h"
#include "execute/ranges.h"
#include "execute/rows.h"
#include "execute/side_row.h"
#include "execute/strided.h"
#include "execute/unpack.h"
#include "kernel/lut.h"
#include "kernel/targets.h"

namespace dequant {
namespace {

/// Sides that are loaded at once where results are streamed: with more, memory writes nothing meanwhile.
constexpr int64_t kStreamedSides = 512;
/// The same of sides that belong to an element each; they are asked for two such tiles ahead.
constexpr int64_t kStreamedTile = 512;
/// Longer runs have so few sides that it does not matter.
constexpr int64_t kStreamedRun = 32;
/// Elements handled at once where sides are expanded or codes unpacked; a multiple of kAligned.
constexpr int64_t kTile = 2048;
/// Entries of sides that are repeated for many rows.
constexpr int64_t kPeriod = Expanded::kCapacity;
static_assert(kPeriod <= NarrowSides::kCapacity);
/// Outputs that stay in a core's own caches.
constexpr int64_t kNearBytes = int64_t{1} << 20;
/// Rows below this are done many at once.
constexpr int64_t kShortRow = 256;
/// Elements that fill bytes and lines whatever the types.
constexpr int64_t kAligned = 64;

class Chunk {
 public:
  Chunk(const Job& job, Range part) noexcept
      : job_(job),
        rows_(job),
        part_(part),
        layout_(layout_of(job.plan)),
        shares_(rows_.can_share({layout_.row, layout_.row})),
        width_(bits(job.plan.input)),
        side_(job.plan, job.buffers, job.table.moves, job.first_scale) {}

  void run() noexcept {
    if (is_documented(job_.plan.rule)) return run_line();
    if (const int64_t period = period_of(); period != 0) return run_periodic(period);
    if (layout_.run != 0) {
      const bool on_bytes = layout_.run >= layout_.row || layout_.run * width_ % 8 == 0;
      if (on_bytes && rows_.is_good_run(layout_.run)) return run_runs();
    } else if (layout_.rows_share_scales || layout_.row >= kShortRow) {
      return run_rows();
    }
    run_expanded();
  }

  /// These columns of all rows of the part.
  void run_all_rows(Range columns) noexcept {
    static_assert(kColumns <= Expanded::kCapacity);
    Expanded expanded(layout_, job_.table.moves, side_);
    const int64_t count = columns.end - columns.begin;
    const int64_t start = part_.begin / layout_.row * layout_.row + columns.begin;
    run_tile(start, count, expanded.of(start, count), part_);
  }

 private:
  const uint8_t* x_at(int64_t element) const {
    return reinterpret_cast<const uint8_t*>(job_.buffers.x.data()) +
           (element - job_.elements.begin) * width_ / 8;
  }
  uint8_t* y_at(int64_t element) const {
    return reinterpret_cast<uint8_t*>(job_.buffers.y.data()) +
           (element - job_.elements.begin) * rows_.y_size();
  }
  bool on_byte(int64_t element) const { return (element - job_.elements.begin) * width_ % 8 == 0; }

  /// One call, or, of codes that start within a byte, one for each tile of unpacked codes. These are
  /// varying or have one scale.
  void call(Leaf leaf, int64_t begin, int64_t count, int64_t run, Sides sides,
            size_t ahead = kAheadOfX) const noexcept {
    const Element x = job_.plan.input;
    if (on_byte(begin)) {
      return rows_.call(x, leaf, x_at(begin), y_at(begin), count, run, sides, ahead);
    }
    alignas(64) uint8_t codes[kTile];
    for (int64_t i = 0; i < count; i += kTile) {
      const int64_t n = std::min(kTile, count - i);
      unpack(x, job_.buffers.x.data(), begin + i - job_.elements.begin, 1, n, codes);
      rows_.call(unpacked(x), leaf, codes, y_at(begin + i), n, std::max(run, n), sides);
      if (leaf == Leaf::runs) continue;
      sides = advanced(sides, n);
    }
  }

  /// Long runs, and short ones that kernels like.
  void run_runs() noexcept {
    const bool fetches = job_.stream && layout_.run <= kStreamedRun;
    const int64_t most = fetches ? kStreamedSides : SideRow::kCapacity;
    for_each_segment(layout_, part_.begin, part_.end, [&](Segment s) {
      while (s.count > 0) {
        const int64_t run = std::min(s.run, s.count);
        // A run beyond the kernels' liking gets calls of its own if it starts within a byte.
        const bool single = !on_byte(s.begin) || run == s.count;
        const int64_t runs = single ? 1 : std::min(s.count / run, most);
        const int64_t count = single ? run : runs * run;
        const Sides sides = side_.load(s.scale, runs);
        if (fetches) side_.fetch(s.scale + runs, runs);
        call(Leaf::runs, s.begin, count, run, sides);
        s.begin += count;
        s.count -= count;
        s.scale += runs;
      }
    });
  }

  /// A scale for each element of a row. Rows that share theirs are done a tile of columns after the
  /// other, whose sides stay in the nearest cache for all of these rows. What goes further than the
  /// core's own caches is better written in longer stretches.
  void run_rows() noexcept {
    const int64_t row = layout_.row;
    const int64_t most = stays_near() ? kTile : SideRow::kCapacity;
    for (int64_t begin = part_.begin; begin < part_.end;) {
      const int64_t r = begin / row;
      int64_t end = std::min((r + rows_from(r)) * row, part_.end);
      Range columns{0, row};
      if (end - begin < 2 * row) {
        end = std::min(end, (r + 1) * row);
        columns = {begin - r * row, end - r * row};
      }
      const bool single = end - begin <= row;
      const int64_t tile = single && job_.stream ? kStreamedTile : most;
      for (int64_t c = columns.begin; c < columns.end; c += tile) {
        const int64_t n = std::min(tile, columns.end - c);
        const int64_t scale = layout_.row_scale(r) + c;
        const Sides sides = single ? side_.load_varying(scale, n) : side_.load(scale, n);
        const int64_t later = single ? scale + 2 * n : layout_.row_scale(end / row) + c;
        if (job_.stream) side_.fetch(later, n);
        run_tile(r * row + c, n, sides, {begin, end});
      }
      begin = end;
    }
  }

  bool stays_near() const {
    return (job_.elements.end - job_.elements.begin) * rows_.y_size() <= kNearBytes;
  }

  /// How many rows from r on share their scales.
  int64_t rows_from(int64_t r) const {
    if (layout_.rows_share_scales) return ceil_div(part_.end, layout_.row) - r;
    const int64_t in_axis = r % layout_.axis;
    return std::min(layout_.block - in_axis % layout_.block, layout_.axis - in_axis);
  }

  /// `columns` elements of each row from `start` on, as far as they lie within `range`.
  void run_tile(int64_t start, int64_t columns, const Sides& sides, Range range) noexcept {
    const int64_t row = layout_.row;
    while (start < range.end) {
      // Rows that have all of these columns.
      const int64_t rows =
          shares_ && start >= range.begin ? (range.end - start - columns + row) / row : 0;
      if (rows >= Rows::kSharedRows && on_byte(start) && rows_.can_share_from(y_at(start))) {
        rows_.shared(x_at(start), y_at(start), columns, rows, {row, row}, sides);
        start += rows * row;
        continue;
      }
      const int64_t from = std::max(start, range.begin);
      const int64_t n = std::min(start + columns, range.end) - from;
      if (n > 0 && job_.stream && n < row && range.end - range.begin > row) {
        call_part(from, n, advanced(sides, from - start));
      } else if (n > 0) {
        call(Leaf::varying, from, n, 1, advanced(sides, from - start));
      }
      start += row;
    }
  }

  /// Part of a row that is streamed. Its codes are followed by those of the same part of the next row.
  [[gnu::noinline]] void call_part(int64_t begin, int64_t count,
                                   const Sides& sides) const noexcept {
    const int64_t apart = (layout_.row - count) * width_ / 8;
    const auto ahead = std::min(static_cast<int64_t>(kAheadOfX), count * width_ / 8);
    const int64_t first = (count - ahead * 8 / width_) / kAligned * kAligned;
    if (first > 0) call(Leaf::varying, begin, first, 1, sides);
    call(Leaf::varying, begin + first, count - first, 1, advanced(sides, first),
         static_cast<size_t>(apart + ahead));
  }

  /// Elements after which everything repeats, and how many of these make a tile: 0 unless rows that
  /// share scales are short.
  int64_t period_of() const {
    if (!layout_.rows_share_scales || layout_.row >= part_.end - part_.begin) return 0;
    for (const int64_t aligned : {kAligned, int64_t{8}}) {
      const int64_t period = std::lcm(std::min(layout_.row, kPeriod), aligned);
      if (layout_.row <= kPeriod / 2 && period <= kPeriod) return kPeriod / period * period;
    }
    return 0;
  }

  void run_periodic(int64_t period) noexcept {
    Expanded expanded(layout_, job_.table.moves, side_);
    const int64_t first = std::min(period, part_.end - part_.begin);
    NarrowSides narrow(job_);
    const Sides sides = narrow.of(expanded.of_equal_rows(part_.begin, first), first);
    for (int64_t begin = part_.begin; begin < part_.end; begin += period) {
      call(Leaf::varying, begin, std::min(period, part_.end - begin), 1, sides);
    }
  }

  void run_expanded() noexcept {
    Expanded expanded(layout_, job_.table.moves, side_);
    for (int64_t begin = part_.begin; begin < part_.end; begin += kTile) {
      const int64_t count = std::min(kTile, part_.end - begin);
      call(Leaf::varying, begin, count, 1, expanded.of(begin, count));
    }
  }

  void run_line() const noexcept {
    const auto range = [](std::span<const std::byte> bytes) {
      return float_value(Element::float32, load_code(32, bytes.data(), 0));
    };
    const Buffers& b = job_.buffers;
    const Element x = job_.plan.input;
    const Line line = documented_line(job_.plan.rule, x, range(b.min_range), range(b.max_range));
    rows_.line(x, x_at(part_.begin), y_at(part_.begin), part_.end - part_.begin, line);
  }

  const Job& job_;
  Rows rows_;
  Range part_;
  Layout layout_;
  bool shares_;  ///< rows that have the same sides are done together
  int width_;
  SideRow side_;
};

/// One scale for all: no segments, and no window for sides, which would cost a small tensor more than
/// its elements.
void run_uniform(const Job& job, Range part) noexcept {
  const Plan& plan = job.plan;
  float scale = 0;
  int32_t zero = 0;
  if (plan.scale == Element::float32) {
    std::memcpy(&scale, job.buffers.scale.data(), sizeof scale);
  } else {
    load_scales(plan, job.buffers, 0, 0, 1, &scale);
  }
  load_zeros(plan, job.buffers, 0, 0, 1, &zero);
  const bool plain = is_plain(scale, !has_infinity(plan.input));
  const int64_t from = part.begin - job.elements.begin;
  const int64_t count = part.end - part.begin;
  const auto* x = reinterpret_cast<const uint8_t*>(job.buffers.x.data()) +
                  from * traits(plan.input).format.bits / 8;
  auto* y =
      reinterpret_cast<uint8_t*>(job.buffers.y.data()) + from * traits(plan.output).format.bits / 8;
  if (job.stream) {
    return Rows(job).call(plan.input, Leaf::runs, x, y, count, count,
                          {&scale, &zero, nullptr, plain});
  }
  const auto n = static_cast<size_t>(count);
  job.table.at(plan.input, plan.output, Leaf::runs)({.x = x,
                                                     .y = y,
                                                     .count = n,
                                                     .run = n,
                                                     .scale = &scale,
                                                     .zero = &zero,
                                                     .lut = lut_of(plan.input),
                                                     .plain = plain,
                                                     .scales_of_y = plan.scale == plan.output});
}

[[gnu::noinline]] void run_packed(const Job& job, Range part) noexcept { Chunk(job, part).run(); }

}  // namespace

int64_t row_of_columns(const Job& job) noexcept {
  if (job.plan.granularity == Granularity::strided || is_documented(job.plan.rule)) return 0;
  const Layout layout = layout_of(job.plan);
  if (!layout.rows_share_scales || layout.run == 0 || layout.run >= layout.row) return 0;
  if (Rows(job).is_good_run(layout.run) || layout.row < 2 * kColumns) return 0;
  if (layout.row * bits(job.plan.input) % 8 != 0) return 0;  // rows would start within a byte
  return (job.elements.end - job.elements.begin) / layout.row >= Rows::kSharedRows ? layout.row : 0;
}

void run_columns(const Job& job, Range columns) noexcept {
  const FloatEnvironment environment;
  Chunk(job, job.elements).run_all_rows(columns);
  if (job.stream) flush_streams();
}

void run_chunk(const Job& job, Range part) noexcept {
  const FloatEnvironment environment;
  if (job.plan.granularity == Granularity::strided) {
    run_strided(job, part);
  } else if (job.plan.granularity == Granularity::per_tensor && !takes_ranges(job.plan.rule)) {
    run_uniform(job, part);
  } else {
    run_packed(job, part);
  }
  if (job.stream) flush_streams();
}

}  // namespace dequant
