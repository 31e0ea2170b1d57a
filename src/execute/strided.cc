// Strided plans, piece by piece. Rows are what the innermost dimension holds. Rows with one scale each go
// to the kernels as they are, many at once where they follow one another in memory. All else becomes a
// tile of neighbours with a scale each; its codes are gathered unless they are neighbours in x, and its
// results put in their places unless they are neighbours in y.
#include "execute/strided.h"

#include <algorithm>
#include <cstring>

#include "execute/gather.h"
#include "execute/odometer.h"
#include "execute/rows.h"
#include "execute/side_row.h"
#include "execute/unpack.h"
#include "plan/strided.h"

namespace dequant {
namespace {

/// Elements of a tile.
constexpr int64_t kTile = kPatch;
/// Rows from here on go to the kernels one by one; shorter ones only together with others.
constexpr int64_t kLong = 32;
/// The same of rows with a scale for each element.
constexpr int64_t kLongVarying = 512;
/// Shorter rows cost more as runs than with a scale for each element.
constexpr int64_t kShortRun = 16;
/// Rows up to here are gathered, so that one call does many.
constexpr int64_t kGathered = 256;
/// Sides that are kept from row to row.
constexpr int64_t kWindow = 4096;
/// Neighbours in memory that make it worth to end a tile with them.
constexpr int64_t kWorth = 128;

Place origin_of(const Plan& plan) {
  const auto start = [&](int64_t Dimension::*stride) {
    return -reach(plan.dimensions, stride).lowest;
  };
  return {start(&Dimension::x), start(&Dimension::scale), start(&Dimension::zero_point),
          start(&Dimension::y)};
}

/// Elements that follow one another in memory: the product of the innermost dimensions that are packed.
int64_t packed_run(const std::vector<Dimension>& dimensions, int64_t Dimension::*stride) {
  int64_t run = 1;
  for (size_t i = dimensions.size(); i-- > 0 && dimensions[i].*stride == run;) {
    run *= dimensions[i].size;
  }
  return run;
}

class Strided {
 public:
  Strided(const Job& job, Range part) noexcept
      : job_(job),
        rows_(job),
        plan_(job.plan),
        inner_(job.plan.dimensions.back()),
        outer_(job.plan.dimensions.size() > 1 ? *(job.plan.dimensions.end() - 2) : Dimension{}),
        width_(bits(job.plan.input)),
        code_size_(bits(unpacked(job.plan.input)) / 8),
        y_size_(bits(job.plan.output) / 8),
        x_run_(packed_run(job.plan.dimensions, &Dimension::x)),
        y_run_(packed_run(job.plan.dimensions, &Dimension::y)),
        here_(job.plan.dimensions, origin_of(job.plan), part.begin),
        next_(part.begin),
        end_(part.end) {
    if (!plan_.has_zero_point) {
      inner_.zero_point = 0;
      outer_.zero_point = 0;
      // These serve every tile.
      load_zeros(plan_, job_.buffers, 0, 0, kWindow, zero_);
    }
    one_scale_ = inner_.scale == 0 && inner_.zero_point == 0;
    x_follows_ = x_run_ > inner_.size && inner_.size * width_ % 8 == 0;
    rows_follow_ = inner_.size >= kShortRun && y_run_ > inner_.size &&
                   (x_follows_ || inner_.size <= kGathered);
  }

  void run() noexcept {
    while (next_ < end_) next_ += step();
  }

 private:
  const uint8_t* x_at(int64_t i) const {
    return reinterpret_cast<const uint8_t*>(job_.buffers.x.data()) + i * width_ / 8;
  }
  uint8_t* y_at(int64_t i) const {
    return reinterpret_cast<uint8_t*>(job_.buffers.y.data()) + i * y_size_;
  }
  bool starts_on_byte() const { return here_.place().x * width_ % 8 == 0; }

  /// Does some elements and says how many.
  int64_t step() noexcept {
    const int64_t piece = std::min(here_.left(), end_ - next_);
    if (one_scale_ && inner_.y == 1 && inner_.x == 1 && starts_on_byte()) {
      if (rows_follow_) {
        const int64_t most = x_follows_ ? kTile : kTile / inner_.size;
        const int64_t rows = std::min({here_.rows_left(), (end_ - next_) / inner_.size, most});
        if (rows > 1) return run_rows(rows);
      }
      if (piece >= kLong) return run_piece(piece);
    }
    if (!one_scale_ && piece >= kLongVarying && inner_.y == 1 && inner_.x == 1 &&
        starts_on_byte()) {
      return run_varying(std::min(piece, kWindow));
    }
    return run_tile(std::min(end_ - next_, kTile));
  }

  /// The first `scales` sides.
  Sides sides(int64_t scales) const {
    const bool plain =
        job_.table.moves.all_plain(scale_, static_cast<size_t>(scales), !has_infinity(plan_.input));
    return {scale_, zero_, nullptr, plain};
  }

  int64_t run_rows(int64_t rows) noexcept {
    const Place at = here_.place();
    load_scales(plan_, job_.buffers, at.scale, outer_.scale, rows, scale_);
    if (plan_.has_zero_point) {
      load_zeros(plan_, job_.buffers, at.zero_point, outer_.zero_point, rows, zero_);
    }
    loaded_ = 0;
    if (!x_follows_) gather_codes(plan_, job_.buffers, patch(rows, inner_.size), codes_);
    rows_.call(x_follows_ ? plan_.input : unpacked(plan_.input), Leaf::runs,
               x_follows_ ? x_at(at.x) : codes_, y_at(at.y), rows * inner_.size, inner_.size,
               sides(rows));
    here_.advance_rows(rows);
    return rows * inner_.size;
  }

  int64_t run_piece(int64_t count) noexcept {
    const Place at = here_.place();
    if (loaded_ == 0 || at.scale != at_.scale || at.zero_point != at_.zero_point) {
      load_scales(plan_, job_.buffers, at.scale, 0, 1, scale_);
      if (plan_.has_zero_point) load_zeros(plan_, job_.buffers, at.zero_point, 0, 1, zero_);
      at_ = at;
      loaded_ = 1;
      window_ = sides(1);
    }
    rows_.call(plan_.input, Leaf::runs, x_at(at.x), y_at(at.y), count, count, window_);
    here_.advance(count);
    return count;
  }

  /// Neighbours with a scale or zero point each. Rows that use the same find them here.
  int64_t run_varying(int64_t count) noexcept {
    const Place at = here_.place();
    if (loaded_ < count || at.scale != at_.scale || at.zero_point != at_.zero_point) {
      load_scales(plan_, job_.buffers, at.scale, inner_.scale, count, scale_);
      if (plan_.has_zero_point) {
        load_zeros(plan_, job_.buffers, at.zero_point, inner_.zero_point, count, zero_);
      }
      at_ = at;
      loaded_ = count;
      window_ = sides(count);
    }
    rows_.call(plan_.input, Leaf::varying, x_at(at.x), y_at(at.y), count, 1, window_);
    here_.advance(count);
    return count;
  }

  Patch patch(int64_t rows, int64_t count) const {
    return {here_.place(), rows, count, inner_, outer_};
  }

  /// Whether the next `count` elements are neighbours, of which there are `run` at a time; if that is
  /// worth it, `count` becomes as many as are.
  bool shorten(bool possible, int64_t run, int64_t& count) const {
    const int64_t left = std::min(run - next_ % run, count);
    if (!possible || left < std::min(count, kWorth)) return false;
    count = left;
    return true;
  }

  int64_t run_tile(int64_t count) noexcept {
    const Odometer start = here_;
    loaded_ = 0;
    const bool direct = shorten(inner_.x == 1 && starts_on_byte(), x_run_, count);
    const bool neighbours = shorten(inner_.y == 1, y_run_, count);
    for (int64_t done = 0; done < count;) {
      const int64_t rows = std::min(here_.rows_left(), (count - done) / inner_.size);
      const int64_t n = rows > 0 ? inner_.size : std::min(here_.left(), count - done);
      const Patch p = patch(std::max<int64_t>(rows, 1), n);
      gather_scales(plan_, job_.buffers, p, scale_ + done);
      if (plan_.has_zero_point) gather_zeros(plan_, job_.buffers, p, zero_ + done);
      if (!direct) gather_codes(plan_, job_.buffers, p, codes_ + done * code_size_);
      if (rows > 0) {
        here_.advance_rows(rows);
        done += rows * n;
      } else {
        here_.advance(n);
        done += n;
      }
    }
    const Element x = direct ? plan_.input : unpacked(plan_.input);
    const uint8_t* codes = direct ? x_at(start.place().x) : codes_;
    if (neighbours) {
      rows_.call(x, Leaf::varying, codes, y_at(start.place().y), count, 1, sides(count));
    } else {
      rows_.call_cached(x, Leaf::varying, codes, y_, count, 1, sides(count));
      scatter(start, count);
    }
    return count;
  }

  /// Puts the results of a tile in their places.
  void scatter(Odometer to, int64_t count) const noexcept {
    for (int64_t done = 0; done < count;) {
      const int64_t n = std::min(to.left(), count - done);
      const uint8_t* from = y_ + done * y_size_;
      uint8_t* out = y_at(to.place().y);
      if (inner_.y == 1) {
        copy_row(out, from, n * y_size_);
      } else if (y_size_ == 4) {
        place<4>(from, out, n);
      } else {
        place<2>(from, out, n);
      }
      done += n;
      to.advance(n);
    }
  }
  template <int64_t kSize>
  void place(const uint8_t* from, uint8_t* out, int64_t count) const noexcept {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(out + i * inner_.y * kSize, from + i * kSize, kSize);
    }
  }

  const Job& job_;
  Rows rows_;
  const Plan& plan_;
  Dimension inner_;
  Dimension outer_;
  const int64_t width_;
  const int64_t code_size_;
  const int64_t y_size_;
  const int64_t x_run_;
  const int64_t y_run_;
  Odometer here_;
  int64_t next_;
  const int64_t end_;
  bool one_scale_ = false;
  bool x_follows_ = false;
  bool rows_follow_ = false;
  int64_t loaded_ = 0;  ///< sides in the window, those from at_ on
  Sides window_{};
  Place at_;
  alignas(64) float scale_[kWindow];
  alignas(64) int32_t zero_[kWindow];
  alignas(64) uint8_t codes_[kTile * 4];
  alignas(64) uint8_t y_[kTile * 4];
};

}  // namespace

void run_strided(const Job& job, Range part) noexcept { Strided(job, part).run(); }

}  // namespace dequant
