// Streaming wants results that start with a line of the cache. Where y does not, a few elements before the
// first line are stored plainly; where runs start anywhere, results take the way through a small buffer.
#include "execute/rows.h"

#include <algorithm>

#include "checked.h"
#include "execute/ranges.h"
#include "kernel/lut.h"

namespace dequant {
namespace {

constexpr auto kLineBytes = static_cast<int64_t>(kLine);
/// Results that take the way through a buffer at once.
constexpr int64_t kBufferBytes = 8192;
/// Runs from here on are worth a call each.
constexpr int64_t kLongRun = 2048;
/// Vectors that kernels handle together.
constexpr int64_t kGroup = 4;

}  // namespace

/// The arguments of call(), x as what the kernels take.
struct Rows::Call {
  RowFn row;
  Leaf leaf;
  int64_t width;  ///< bits of a code
  const float* lut;
  const uint8_t* codes;
  uint8_t* y;
  int64_t count;
  int64_t run;
  Sides sides;
  bool scales_of_y;
  size_t ahead = kAheadOfX;

  bool one_run() const { return leaf == Leaf::runs && run >= count; }

  void operator()(bool stream) const {
    row({.x = codes,
         .y = y,
         .count = static_cast<size_t>(count),
         .run = static_cast<size_t>(run),
         .scale = sides.scale,
         .zero = sides.zero,
         .lut = lut,
         .stream = stream,
         .ahead = ahead,
         .plain = sides.plain,
         .scales_of_y = scales_of_y,
         .offset = sides.offset,
         .scale16 = sides.scale16,
         .zero16 = sides.zero16});
  }

  /// `n` elements from i on, which are whole runs or lie within one.
  Call piece(int64_t i, int64_t n, int64_t y_size) const {
    Call part = *this;
    part.codes += i * width / 8;
    part.y += i * y_size;
    part.count = n;
    part.sides = advanced(sides, leaf == Leaf::varying ? i : i / run);
    return part;
  }
};

Rows::Rows(const Job& job) noexcept
    : job_(job),
      adds_(adds_offset(job.plan.rule)),
      scales_of_y_(job.plan.scale == job.plan.output),
      y_size_(bits(job.plan.output) / 8) {}

bool Rows::is_good_run(int64_t run) const noexcept {
  const auto lanes = static_cast<int64_t>(job_.table.lanes);
  if (run >= kLongRun || run % (kGroup * lanes) == 0) return true;
  return !adds_ && (run == lanes || run == 2 * lanes);
}

void Rows::call(Element x, Leaf leaf, const uint8_t* codes, uint8_t* y, int64_t count, int64_t run,
                const Sides& sides, size_t ahead) const noexcept {
  const Call c{row_of(x, leaf), leaf, bits(x), lut_of(x),    codes, y,
               count,           run,  sides,   scales_of_y_, ahead};
  job_.stream ? stream(c) : c(false);
}

void Rows::call_cached(Element x, Leaf leaf, const uint8_t* codes, uint8_t* y, int64_t count,
                       int64_t run, const Sides& sides) const noexcept {
  Call{row_of(x, leaf), leaf, bits(x), lut_of(x), codes, y, count, run, sides, scales_of_y_}(false);
}

bool Rows::can_share(Apart rows) const noexcept {
  const Plan& plan = job_.plan;
  if (adds_ || job_.table.shared_at(plan.input, plan.output) == nullptr) return false;
  if (rows.x < 0 || rows.y < 0 || rows.x * bits(plan.input) % 8 != 0) return false;
  return !job_.stream || rows.y * y_size_ % kLineBytes == 0;
}

bool Rows::can_share_from(const uint8_t* y) const noexcept {
  return !job_.stream || reinterpret_cast<uintptr_t>(y) % kLine == 0;
}

void Rows::shared(const uint8_t* codes, uint8_t* y, int64_t count, int64_t rows, Apart apart,
                  const Sides& sides) const noexcept {
  const Element x = job_.plan.input;
  const int64_t x_row = apart.x * bits(x) / 8;
  // Codes of short rows, a line at least, are asked for some rows ahead.
  const int64_t part = std::max(count * bits(x) / 8, kLineBytes);
  const int64_t ahead = ceil_div(int64_t{kAheadOfX}, part) * x_row;
  job_.table.shared_at(x, job_.plan.output)({.x = codes,
                                             .y = y,
                                             .count = static_cast<size_t>(count),
                                             .scale = sides.scale,
                                             .zero = sides.zero,
                                             .lut = lut_of(x),
                                             .stream = job_.stream,
                                             .ahead = static_cast<size_t>(ahead),
                                             .plain = sides.plain,
                                             .scales_of_y = scales_of_y_,
                                             .rows = static_cast<size_t>(rows),
                                             .x_row = static_cast<size_t>(x_row),
                                             .y_row = static_cast<size_t>(apart.y * y_size_)});
}

RowFn Rows::row_of(Element x, Leaf leaf) const noexcept {
  const Element y = job_.plan.output;
  return adds_ ? job_.table.range_at(x, y, leaf) : job_.table.at(x, y, leaf);
}

void Rows::stream(const Call& c) const noexcept {
  const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(c.y) % kLine);
  const bool free = c.leaf == Leaf::varying || c.one_run();
  // Runs of a group of vectors or less follow one another without a seam.
  const bool seamless = free || c.run * y_size_ % kLineBytes == 0 ||
                        c.run <= 2 * static_cast<int64_t>(job_.table.lanes);
  if (past == 0 && seamless) return c(true);
  const int64_t head = (kLineBytes - past) / y_size_;
  const bool reachable = past % y_size_ == 0 && head * c.width % 8 == 0;
  if (free && reachable) {
    if (head >= c.count) return c(false);
    c.piece(0, head, y_size_)(false);
    return c.piece(head, c.count - head, y_size_)(true);
  }
  if (!free && c.run >= kLongRun) {
    for (int64_t i = 0; i < c.count; i += c.run) {
      stream(c.piece(i, std::min(c.run, c.count - i), y_size_));
    }
    return;
  }
  bounce(c);
}

void Rows::line(Element x, const uint8_t* codes, uint8_t* y, int64_t count,
                const Line& line) const noexcept {
  // Codes of whole bytes and results of four: the first line can always be reached.
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(y) % kLine);
  const bool split = job_.stream && past != 0 && past % y_size_ == 0;
  const int64_t head = split ? std::min(count, (kLineBytes - past) / y_size_) : 0;
  const RowFn row = job_.table.line_at(x);
  const auto run = [&](int64_t from, int64_t n) {
    if (n == 0) return;
    RowArgs args{codes + from * bits(x) / 8, y + from * y_size_, static_cast<size_t>(n)};
    args.stream = job_.stream;
    args.line = &line;
    row(args);
  };
  run(0, head);
  run(head, count - head);
}

void Rows::bounce(const Call& c) const noexcept {
  alignas(64) uint8_t buffer[kBufferBytes];
  const int64_t capacity = kBufferBytes / y_size_;
  int64_t count = 0;
  for (int64_t i = 0; i < c.count; i += count) {
    count = std::min(capacity, c.count - i);
    if (c.leaf == Leaf::runs) {
      count = c.run <= capacity ? std::min(capacity / c.run * c.run, c.count - i)
                                : std::min(count, c.run - i % c.run);
    }
    Call part = c.piece(i, count, y_size_);
    part.y = buffer;
    part(false);
    job_.table.moves.stream(buffer, c.y + i * y_size_, static_cast<size_t>(count * y_size_));
  }
}

}  // namespace dequant
