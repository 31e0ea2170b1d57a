// Strided plans, box by box. The codes of a box are gathered unless they are neighbours in x, one call of
// a row does them all, and its results are put in their places unless they are neighbours in y. Sides are
// kept from box to box where strides repeat them. Transposes go through a tile of codes.
#include "execute/strided.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "execute/gather.h"
#include "execute/narrow_sides.h"
#include "execute/odometer.h"
#include "execute/rows.h"
#include "execute/side_row.h"
#include "execute/unpack.h"
#include "execute/walk.h"

namespace dequant {
namespace {

/// Rows of neighbours in x and y from here on are done where they lie, one by one; shorter ones only
/// together with others. If their results do not follow one another, those would go a longer way.
constexpr int64_t kLong = 256;
constexpr int64_t kLongApart = 64;
/// The same of rows with a scale for each element.
constexpr int64_t kLongVarying = 512;
/// Shorter runs cost more than a scale for each element.
constexpr int64_t kShortRun = 16;
/// Bytes of codes that are transposed at once.
constexpr int64_t kTransposed = 16 << 10;
constexpr auto kLineBytes = static_cast<int64_t>(kLine);
/// Fewer rows are not worth a transpose.
constexpr int64_t kFewRows = 8;

static_assert(kSides <= NarrowSides::kCapacity);

class Strided {
 public:
  Strided(const Job& job, const Walk& walk, Range part) noexcept
      : job_(job),
        rows_(job),
        plan_(job.plan),
        transposes_(walk.transposes),
        dimensions_(walk.dimensions()),
        last_(walk.rank - 1),
        inner_(walk.list[last_]),
        has_zeros_(job.plan.has_zero_point && kind(job.plan.input) != Kind::floating),
        width_(bits(job.plan.input)),
        code_size_(bits(unpacked(job.plan.input)) / 8),
        here_(dimensions_, walk.origin, part.begin),
        left_(part.end - part.begin),
        narrow_(job) {
    const bool one_scale = repeats_sides(inner_);
    const bool follows = last_ > 0 && walk.list[last_ - 1].y == inner_.size * inner_.y;
    long_ = !one_scale ? kLongVarying : follows ? kLong : kLongApart;
    longest_ = one_scale ? INT64_MAX : kSides;
    shares_ = last_ > 0 && !one_scale && inner_.size <= kSides &&
              repeats_sides(walk.list[last_ - 1]) &&
              rows_.can_share({walk.list[last_ - 1].x, walk.list[last_ - 1].y});
    if (!has_zeros_) std::fill_n(zero_, std::min(kSides, left_), plan_.implicit_zero_point);
  }

  void run() noexcept {
    while (left_ > 0) left_ -= step();
  }

 private:
  /// The sides of a box: one for each run of elements, or for each element.
  struct BoxSides {
    Leaf leaf = Leaf::runs;
    int64_t run = 0;
    Sides sides{};
  };

  const uint8_t* x_at(int64_t i) const {
    return reinterpret_cast<const uint8_t*>(job_.buffers.x.data()) + (i * width_ >> 3);
  }
  uint8_t* y_at(int64_t i) const {
    return reinterpret_cast<uint8_t*>(job_.buffers.y.data()) + i * rows_.y_size();
  }
  bool starts_on_byte() const { return here_.place().x * width_ % 8 == 0; }

  /// Does some elements and says how many.
  int64_t step() noexcept {
    if (transposes_) {
      const int64_t most = std::max<int64_t>(kTransposed / (inner_.size * code_size_), 1);
      const int64_t rows = std::min(here_.whole(last_ - 1, left_), most);
      if (rows >= kFewRows) return run_transposed(rows);
    }
    const int64_t piece = std::min(here_.left(last_), left_);
    if (piece >= long_ && inner_.x == 1 && inner_.y == 1 && starts_on_byte()) {
      const int64_t rows = shares_ ? here_.whole(last_ - 1, left_) : 0;
      if (rows >= Rows::kSharedRows && rows_.can_share_from(y_at(here_.place().y))) {
        return run_shared(rows);
      }
      return run_piece(std::min(piece, longest_));
    }
    if (usual_.elements == 0) usual_ = Odometer(dimensions_, {}, 0).largest_box(kTile);
    const bool usual = left_ >= usual_.elements && here_.left(usual_.outermost) >= usual_.count &&
                       here_.stands_at(usual_.outermost);
    return run_box(usual ? usual_ : here_.largest_box(std::min(kTile, left_)));
  }

  /// Neighbours in x and y.
  int64_t run_piece(int64_t count) noexcept {
    const Place at = here_.place();
    const BoxSides s = load_sides({last_, count, count}, at);
    rows_.call(plan_.input, s.leaf, x_at(at.x), y_at(at.y), count, s.run, s.sides);
    here_.advance(last_, count);
    return count;
  }

  /// Rows of neighbours that have the same sides.
  int64_t run_shared(int64_t rows) noexcept {
    const Place at = here_.place();
    const Sides sides = load_sides({last_, inner_.size, inner_.size}, at).sides;
    const Dimension& outer = dimensions_[last_ - 1];
    rows_.shared(x_at(at.x), y_at(at.y), inner_.size, rows, {outer.x, outer.y}, sides);
    here_.advance(last_ - 1, rows);
    return rows * inner_.size;
  }

  int64_t run_box(const Box& box) noexcept {
    if (box.outermost != shape_.outermost || box.count > shape_.count) {
      x_places_.set(dimensions_, &Dimension::x, box, width_ < 8);
      y_places_.set(dimensions_, &Dimension::y, box, false);
      shape_ = box;
    }
    const Place at = here_.place();
    const BoxSides s = load_sides(box, at);
    Element x = plan_.input;
    here_.advance(box.outermost, box.count);
    const uint8_t* codes = load_codes(box, at.x, s, x);
    if (y_places_.together(box)) {
      rows_.call(x, s.leaf, codes, y_at(at.y), box.elements, s.run, s.sides);
    } else {
      rows_.call_cached(x, s.leaf, codes, spare_, box.elements, s.run, s.sides);
      scatter_results(spare_, rows_.y_size(), y_places_, box, y_at(at.y));
    }
    return box.elements;
  }

  /// The codes of a box at a place, one after another, and what element they are of.
  const uint8_t* load_codes(const Box& box, int64_t at, const BoxSides& s, Element& x) noexcept {
    const int64_t next = here_.place().x;
    const std::byte* data = job_.buffers.x.data();
    // Kernels want runs that start on bytes.
    const bool as_stored =
        width_ >= 8 || (at * width_ % 8 == 0 && (s.leaf == Leaf::varying || s.run == box.elements ||
                                                 s.run * width_ % 8 == 0));
    if (as_stored && x_places_.together(box)) return x_at(at);
    const bool on_bytes = width_ >= 8 || (x_places_.step() == 1 && x_places_.all_on(8 / width_) &&
                                          x_places_.row(box) * width_ % 8 == 0);
    if (as_stored && on_bytes) {
      gather_codes(data, at, next, width_, x_places_, box, codes_);
    } else {
      gather_unpacked(x, data, at, next, x_places_, box, codes_);
      x = unpacked(x);
    }
    return codes_;
  }

  /// The sides of a box at a place. Those of the last one serve again if this one has the same.
  BoxSides load_sides(const Box& box, const Place& at) noexcept {
    size_t i = last_ + 1;
    int64_t run = 1;
    while (i > box.outermost && repeats_sides(dimensions_[i - 1])) {
      run *= box.size(dimensions_, --i);
    }
    const bool runs = run >= kShortRun || run == box.elements;
    const int64_t count = runs ? box.elements / run : box.elements;
    if (box.outermost != sided_.outermost || box.count > sided_.count ||
        at.scale != sides_at_.scale || at.zero_point != sides_at_.zero_point) {
      const Dimensions used = dimensions_.first(runs ? std::max(i, box.outermost + 1) : last_ + 1);
      const Box shorter{box.outermost, count == 1 ? 1 : box.count, count};
      gather_scales(plan_, job_.buffers, used, shorter, at.scale, scale_);
      if (has_zeros_) {
        const Moves& moves = job_.table.moves;
        gather_zeros(plan_, job_.buffers, moves, used, shorter, at.zero_point, zero_);
      }
      sides_ = {scale_, zero_, nullptr,
                job_.table.moves.all_plain(scale_, static_cast<size_t>(count),
                                           !has_infinity(plan_.input))};
      sides_count_ = count;
      sided_ = box;
      sides_at_ = at;
    } else if (!runs && sides_.scale16 == nullptr) {
      sides_ = narrow_.of(sides_, sides_count_);  // worth it from the second time on
    }
    return {runs ? Leaf::runs : Leaf::varying, runs ? run : 1, sides_};
  }

  /// Some indices of the dimension before the innermost.
  int64_t run_transposed(int64_t rows) noexcept {
    transpose_codes(rows);
    const Dimension& outer = dimensions_[last_ - 1];
    const bool follow = outer.y == inner_.size;
    const bool one_scale = repeats_sides(inner_);
    const int64_t at_once = one_scale ? rows : follow ? kSides / inner_.size : 1;
    Place at = here_.place();
    here_.advance(last_ - 1, rows);
    for (int64_t done = 0; done < rows;) {
      const int64_t n = std::min(at_once, rows - done);
      run_rows(load_sides({last_ - 1, n, n * inner_.size}, at), at.y, done, n, rows);
      done += n;
      at.step(outer, n);
    }
    return rows * inner_.size;
  }

  /// `count` of the rows in codes_, whose results start at y.
  void run_rows(BoxSides s, int64_t y, int64_t first, int64_t count, int64_t rows) noexcept {
    const Dimension& outer = dimensions_[last_ - 1];
    const bool follow = outer.y == inner_.size;
    const int64_t n = follow ? count : 1;
    for (int64_t r = 0; r < count; r += n) {
      if (job_.stream) fetch(first + r, n, rows);
      rows_.call(unpacked(plan_.input), s.leaf, codes_ + (first + r) * inner_.size * code_size_,
                 y_at(y + r * outer.y), n * inner_.size, s.run, s.sides);
      if (s.run == inner_.size) ++s.sides.scale, ++s.sides.zero;
    }
  }

  /// Asks for a share of the codes that are transposed next, while others are dequantized.
  [[gnu::always_inline]] void fetch(int64_t first, int64_t count, int64_t of) const noexcept {
    const int64_t end = (first + count) * inner_.size / of;
    for (int64_t k = first * inner_.size / of; k < end; ++k) {
      const uint8_t* line = x_at(here_.place().x + k * inner_.x);
      for (int64_t i = 0; i < of * width_ / 8; i += kLineBytes) __builtin_prefetch(line + i);
    }
  }

  /// Puts so many rows of codes in codes_, which lie across in x.
  void transpose_codes(int64_t rows) noexcept {
    const Dimension& outer = dimensions_[last_ - 1];
    const int64_t at = here_.place().x;
    TransposeArgs args{.from = x_at(at),
                       .from_stride = inner_.x * code_size_,
                       .to = codes_,
                       .to_stride = static_cast<size_t>(inner_.size * code_size_),
                       .rows = static_cast<size_t>(inner_.size),
                       .columns = static_cast<size_t>(rows)};
    if (outer.x != 1 || width_ < 8) {
      // Without gaps all of it is one stretch.
      const bool together = outer.x == 1 && inner_.x == rows;
      const int64_t stretches = together ? 1 : inner_.size;
      const int64_t stretch = rows * inner_.size / stretches;
      for (int64_t k = 0; k < stretches; ++k) {
        unpack(plan_.input, job_.buffers.x.data(), at + k * inner_.x, outer.x, stretch,
               spare_ + k * stretch * code_size_);
      }
      args.from = spare_;
      args.from_stride = rows * code_size_;
    }
    job_.table.transpose[static_cast<size_t>(std::countr_zero(static_cast<size_t>(code_size_)))](
        args);
  }

  const Job& job_;
  Rows rows_;
  const Plan& plan_;
  const bool transposes_;
  const Dimensions dimensions_;
  const size_t last_;
  const Dimension& inner_;
  const bool has_zeros_;
  const int64_t width_;
  const int64_t code_size_;
  Odometer here_;
  int64_t left_;
  int64_t long_;        ///< elements of a row that is done where it lies
  int64_t longest_;     ///< of which so many at once
  bool shares_;         ///< rows follow one another that have the same sides
  Box usual_{0, 0, 0};  ///< the largest from a start on
  Box shape_{0, 0, 0};  ///< the places are those of
  Box sided_{0, 0, 0};  ///< the sides are those of, from sides_at_ on
  Place sides_at_;
  Sides sides_{};
  int64_t sides_count_ = 0;
  NarrowSides narrow_;
  RowPlaces x_places_;
  RowPlaces y_places_;
  alignas(64) float scale_[kSides];
  alignas(64) int32_t zero_[kSides];
  alignas(64) uint8_t codes_[kTransposed];
  /// Results of a box, or codes before they are transposed.
  alignas(64) uint8_t spare_[kTransposed];
};

}  // namespace

void run_strided(const Job& job, Range part) noexcept {
  int64_t begin = 0;
  for (const Share share : {Share::blocks, Share::rest}) {
    const Walk walk = walk_of(job.plan, share);
    const int64_t end = begin + walk.elements();
    const Range own{std::max(part.begin, begin) - begin, std::min(part.end, end) - begin};
    if (own.begin < own.end) Strided(job, walk, own).run();
    if (part.end <= end) return;
    begin = end;
  }
}

}  // namespace dequant
