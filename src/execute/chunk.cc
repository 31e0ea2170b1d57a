// Walking the elements of a chunk: each granularity in the way that costs least besides the kernels.
#include "execute/chunk.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "element/codes.h"
#include "execute/float_environment.h"
#include "execute/ranges.h"
#include "execute/rows.h"
#include "execute/side_row.h"
#include "execute/strided.h"
#include "execute/unpack.h"
#include "kernel/lut.h"
#include "kernel/targets.h"

namespace dequant {
namespace {

/// Elements handled at once where sides are expanded or codes unpacked; a multiple of 8.
constexpr int64_t kTile = 1024;
/// Entries of sides that are repeated for many rows.
constexpr int64_t kPeriod = 2048;
/// Rows below this are done many at once.
constexpr int64_t kShortRow = 256;
/// Elements that fill bytes and lines whatever the types.
constexpr int64_t kAligned = 64;

/// One side for each element of a tile.
struct Expanded {
  alignas(64) float scale[kPeriod + Moves::kSlack];
  alignas(64) int32_t zero[kPeriod + Moves::kSlack];
  alignas(64) float offset[kPeriod + Moves::kSlack];
};

class Chunk {
 public:
  Chunk(const Job& job, Range part) noexcept
      : job_(job),
        rows_(job),
        part_(part),
        layout_(layout_of(job.plan)),
        width_(bits(job.plan.input)),
        side_(job.plan, job.buffers, job.table.moves, job.first_scale) {}

  void run() noexcept {
    if (is_documented(job_.plan.rule)) return run_line();
    if (const int64_t period = period_of(); period != 0) return run_periodic(period);
    if (layout_.run != 0) {
      const bool on_bytes = layout_.run >= layout_.row || layout_.run * width_ % 8 == 0;
      if (on_bytes && rows_.is_good_run(layout_.run)) return run_runs();
    } else if (layout_.rows_share_scales || layout_.inner == 1) {
      return run_rows();
    } else if (layout_.block == 1 || layout_.row >= kShortRow) {
      return run_blocks_of_rows();
    }
    run_expanded();
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
  void call(Leaf leaf, int64_t begin, int64_t count, int64_t run, Sides sides) const noexcept {
    const Element x = job_.plan.input;
    if (on_byte(begin)) return rows_.call(x, leaf, x_at(begin), y_at(begin), count, run, sides);
    alignas(64) uint8_t codes[kTile];
    for (int64_t i = 0; i < count; i += kTile) {
      const int64_t n = std::min(kTile, count - i);
      unpack(x, job_.buffers.x.data(), begin + i - job_.elements.begin, 1, n, codes);
      rows_.call(unpacked(x), leaf, codes, y_at(begin + i), n, std::max(run, n), sides);
      if (leaf == Leaf::runs) continue;
      sides.scale += n;
      sides.zero += n;
      if (sides.offset != nullptr) sides.offset += n;
    }
  }

  /// Long runs, and short ones that kernels like.
  void run_runs() noexcept {
    for_each_segment(layout_, part_.begin, part_.end, [this](Segment s) {
      while (s.count > 0) {
        const int64_t run = std::min(s.run, s.count);
        // A run beyond the kernels' liking gets calls of its own if it starts within a byte.
        const bool single = !on_byte(s.begin) || run == s.count;
        const int64_t runs = single ? 1 : std::min(s.count / run, SideRow::kCapacity);
        const int64_t count = single ? run : runs * run;
        call(Leaf::runs, s.begin, count, run, side_.load(s.scale, runs));
        s.begin += count;
        s.count -= count;
        s.scale += runs;
      }
    });
  }

  /// A scale for each element of a row, or of a part of one.
  void run_row(int64_t begin, int64_t count, int64_t scale) noexcept {
    for (int64_t done = 0; done < count;) {
      const int64_t n = std::min(SideRow::kCapacity, count - done);
      call(Leaf::varying, begin + done, n, 1, side_.load(scale + done, n));
      done += n;
    }
  }

  void run_rows() noexcept {
    for_each_segment(layout_, part_.begin, part_.end,
                     [this](const Segment& s) { run_row(s.begin, s.count, s.scale); });
  }

  /// Rows of a block on a middle axis share their scales: a look at the layout for each block.
  void run_blocks_of_rows() noexcept {
    const int64_t row = layout_.row;
    for (int64_t begin = part_.begin; begin < part_.end;) {
      const int64_t r = begin / row;
      const int64_t in_axis = r % layout_.axis;
      const int64_t rows =
          std::min(layout_.block - in_axis % layout_.block, layout_.axis - in_axis);
      const int64_t end = std::min((r + rows) * row, part_.end);
      const int64_t scale = layout_.row_scale(r);
      for (int64_t start = r * row; start < end; start += row) {
        const int64_t from = std::max(start, begin);
        run_row(from, std::min(start + row, end) - from, scale + from - start);
      }
      begin = end;
    }
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
    Expanded expanded;
    const int64_t count = std::min(period, part_.end - part_.begin);
    expand(part_.begin, std::min(layout_.row, count), expanded);
    const Sides sides = sides_of(expanded);
    echo(expanded, 0, layout_.row, count, sides.offset != nullptr);
    for (int64_t begin = part_.begin; begin < part_.end; begin += period) {
      call(Leaf::varying, begin, std::min(period, part_.end - begin), 1, sides);
    }
  }

  void run_expanded() noexcept {
    Expanded expanded;
    for (int64_t begin = part_.begin; begin < part_.end; begin += kTile) {
      const int64_t count = std::min(kTile, part_.end - begin);
      if (layout_.run == 0 && layout_.row < kTile) {
        expand_rows(begin, count, expanded);
      } else {
        expand(begin, count, expanded);
      }
      call(Leaf::varying, begin, count, 1, sides_of(expanded));
    }
  }

  Sides sides_of(const Expanded& e) const {
    return {e.scale, e.zero, adds_offset(job_.plan.rule) ? e.offset : nullptr, plain_};
  }

  /// From `at` on the first `period` of `count` entries are there; makes the others repeat them.
  static void echo(Expanded& e, int64_t at, int64_t period, int64_t count, bool offsets) {
    for (int64_t done = period; done < count;) {
      const int64_t n = std::min(done, count - done);
      std::copy_n(e.scale + at, n, e.scale + at + done);
      std::copy_n(e.zero + at, n, e.zero + at + done);
      if (offsets) std::copy_n(e.offset + at, n, e.offset + at + done);
      done += n;
    }
  }

  /// One side for each of `count` elements.
  void expand(int64_t begin, int64_t count, Expanded& out) noexcept {
    plain_ = true;
    // Segments start with a run but for the first.
    int64_t into = layout_.run == 0 ? 0 : begin % layout_.row % layout_.run;
    for_each_segment(layout_, begin, begin + count, [&](const Segment& s) {
      const int64_t run = std::max<int64_t>(s.run, 1);
      put(s.scale, run, into, s.count, out, s.begin - begin);
      into = 0;
    });
  }

  /// The same where rows of a block share the sides of a row.
  void expand_rows(int64_t begin, int64_t count, Expanded& out) noexcept {
    plain_ = true;
    const int64_t row = layout_.row;
    for (int64_t done = 0; done < count;) {
      const int64_t r = (begin + done) / row;
      const int64_t within = (begin + done) % row;
      const int64_t in_axis = r % layout_.axis;
      const int64_t rows =
          std::min(layout_.block - in_axis % layout_.block, layout_.axis - in_axis);
      const int64_t n = std::min(rows * row - within, count - done);
      // The rest of this row and, if that is not all, its first part.
      const int64_t rest = std::min(row - within, n);
      put(layout_.row_scale(r) + within, 1, 0, rest, out, done);
      if (n > rest) {
        put(layout_.row_scale(r), 1, 0, std::min(within, n - rest), out, done + rest);
        echo(out, done, row, n, adds_offset(job_.plan.rule));
      }
      done += n;
    }
  }

  /// Puts the sides from `scale` on, `run` times each but for the first, `into` times less, at `at`.
  void put(int64_t scale, int64_t run, int64_t into, int64_t count, Expanded& out,
           int64_t at) noexcept {
    const auto repeat = [&](const auto* from, auto* to) {
      if (run == 1) return static_cast<void>(std::copy_n(from, count, to + at));
      job_.table.moves.repeat(reinterpret_cast<const uint32_t*>(from), static_cast<size_t>(run),
                              static_cast<size_t>(into), reinterpret_cast<uint32_t*>(to + at),
                              static_cast<size_t>(count));
    };
    const Sides sides = side_.load(scale, ceil_div(count + into, run));
    plain_ = plain_ && sides.plain;
    repeat(sides.scale, out.scale);
    repeat(sides.zero, out.zero);
    if (sides.offset != nullptr) repeat(sides.offset, out.offset);
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
  int width_;
  bool plain_ = true;  ///< of what expand() expanded
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
                                                     .plain = plain});
}

[[gnu::noinline]] void run_packed(const Job& job, Range part) noexcept { Chunk(job, part).run(); }

}  // namespace

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
