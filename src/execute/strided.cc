// Strided plans, tile by tile. The codes of a tile are gathered unless they are contiguous in x,
// one kernel call dequantizes the tile, and the results are scattered unless they are contiguous in
// y. Parameters stay loaded from tile to tile where strides repeat them. Transposes go through a
// tile of codes.
#include "execute/strided.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "execute/gather.h"
#include "execute/indexed.h"
#include "execute/kernel_calls.h"
#include "execute/loop_order.h"
#include "execute/narrow_params.h"
#include "execute/odometer.h"
#include "execute/packed_codes.h"
#include "execute/param_window.h"
#include "execute/unpack.h"

namespace dequant {
namespace {

/// Shorter groups are slower than a scale for each element.
constexpr int64_t kShortGroup = 16;
/// Bytes of codes that are transposed at once.
constexpr int64_t kTransposed = 16 << 10;
constexpr auto kCacheLineBytes = static_cast<int64_t>(kCacheLine);
/// Fewer rows are gathered, not transposed.
constexpr int64_t kFewRows = 8;

static_assert(kParams <= NarrowParams::kCapacity);

/// Elements of a tile. Where codes and results lie in the same order without gaps, a tile is one
/// row of both, and larger: checkpoint/uint4/*/padded_groups_of_128.
int64_t most_of_tile(Dimensions dimensions) noexcept {
  int64_t size = 1;
  for (size_t i = dimensions.size(); i-- > 0; size *= dimensions[i].size) {
    if (dimensions[i].x != size || dimensions[i].y != size) return kTile;
  }
  return kParams;
}

class Strided {
 public:
  Strided(const Job& job, const StridedWay& way, const LoopOrder& order, Range elements) noexcept
      : job_(job),
        calls_(job),
        plan_(job.plan),
        way_(way),
        dimensions_(order.dimensions()),
        last_(order.rank - 1),
        inner_(order.list[last_]),
        has_zeros_(has_zero_points(job.plan)),
        width_(bits(job.plan.input)),
        code_size_(bits(unpacked(job.plan.input)) / 8),
        x_codes_(job.plan.input, job.plan.parameters.x_packing, job.table, job.buffers.x,
                 job.x_byte),
        here_(dimensions_, order.origin, elements.begin),
        left_(elements.end - elements.begin),
        most_(most_of_tile(dimensions_)),
        narrow_(job) {
    if (!has_zeros_) std::fill_n(zero_, std::min(kParams, left_), plan_.implicit_zero_point);
  }

  void run() noexcept {
    while (left_ > 0) left_ -= step();
  }

 private:
  /// The parameters of a tile, for each group of elements or for each element.
  struct TileParams {
    ScaleLayout scale_layout = ScaleLayout::per_group;
    int64_t group = 0;
    Params params{};
  };

  const uint8_t* x_at(int64_t i) const {
    return reinterpret_cast<const uint8_t*>(job_.buffers.x.data()) + (i * width_ >> 3);
  }
  uint8_t* y_at(int64_t i) const {
    return reinterpret_cast<uint8_t*>(job_.buffers.y.data()) + i * calls_.y_size();
  }
  bool starts_on_byte() const { return here_.offsets().x * width_ % 8 == 0; }

  /// Dequantizes the next elements in the manner of the way; returns how many.
  int64_t step() noexcept {
    if (way_.transposes) {
      const int64_t most = std::max<int64_t>(kTransposed / (inner_.size * code_size_), 1);
      const int64_t rows = std::min(here_.whole(last_ - 1, left_), most);
      if (rows >= kFewRows) return run_transposed(rows);
    }
    const int64_t row = std::min(here_.left(last_), left_);
    if (row >= way_.in_place && starts_on_byte()) {
      const int64_t rows = way_.shares_rows ? here_.whole(last_ - 1, left_) : 0;
      if (rows >= kSharedRows && calls_.can_share_from(y_at(here_.offsets().y))) {
        return run_shared(rows);
      }
      return run_in_place(std::min(row, way_.most_in_place));
    }
    if (full_.elements == 0) full_ = Odometer(dimensions_, {}, 0).largest_tile(most_);
    const bool fits = left_ >= full_.elements && here_.left(full_.outermost) >= full_.count &&
                      here_.at_start_of(full_.outermost);
    return run_tile(fits ? full_ : here_.largest_tile(std::min(most_, left_)));
  }

  /// Dequantizes `count` elements that are contiguous in x and in y.
  int64_t run_in_place(int64_t count) noexcept {
    const Offsets at = here_.offsets();
    const TileParams s = load_params({last_, count, count}, at);
    calls_.call(plan_.input, s.scale_layout, x_at(at.x), y_at(at.y), count, s.group, s.params);
    here_.advance(last_, count);
    return count;
  }

  /// Dequantizes rows that are contiguous in x and in y and share parameters.
  int64_t run_shared(int64_t rows) noexcept {
    const Offsets at = here_.offsets();
    const Params params = load_params({last_, inner_.size, inner_.size}, at).params;
    const Dimension& outer = dimensions_[last_ - 1];
    calls_.shared(x_at(at.x), y_at(at.y), inner_.size, rows, {outer.x, outer.y}, params);
    here_.advance(last_ - 1, rows);
    return rows * inner_.size;
  }

  /// Gathers, dequantizes and scatters a tile.
  int64_t run_tile(const Tile& tile) noexcept {
    if (tile.outermost != offsets_tile_.outermost || tile.count > offsets_tile_.count) {
      x_offsets_.set(dimensions_, &Dimension::x, tile, width_ < 8 || job_.way.unpacks);
      y_offsets_.set(dimensions_, &Dimension::y, tile, false);
      offsets_tile_ = tile;
    }
    const Offsets at = here_.offsets();
    const TileParams s = load_params(tile, at);
    Element x = plan_.input;
    here_.advance(tile.outermost, tile.count);
    const uint8_t* codes = load_codes(tile, at.x, s, x);
    if (y_offsets_.contiguous(tile)) {
      calls_.call(x, s.scale_layout, codes, y_at(at.y), tile.elements, s.group, s.params);
    } else {
      calls_.call_cached(x, s.scale_layout, codes, spare_, tile.elements, s.group, s.params);
      scatter_results(spare_, calls_.y_size(), y_offsets_, tile, y_at(at.y));
    }
    return tile.elements;
  }

  /// The codes of the tile that starts at element `at` of x, contiguous. Sets `x` to their element,
  /// plan_.input or unpacked(plan_.input).
  const uint8_t* load_codes(const Tile& tile, int64_t at, const TileParams& s,
                            Element& x) noexcept {
    if (job_.way.unpacks) {
      x = unpacked(plan_.input);
      gather_unpacked(x_codes_, at, x_offsets_, tile, codes_);
      return codes_;
    }
    const int64_t next = here_.offsets().x;
    const std::byte* data = job_.buffers.x.data();
    // Kernels demand groups that start on bytes.
    const bool as_stored = width_ >= 8 || (at * width_ % 8 == 0 &&
                                           (s.scale_layout == ScaleLayout::per_element ||
                                            s.group == tile.elements || s.group * width_ % 8 == 0));
    if (as_stored && x_offsets_.contiguous(tile)) return x_at(at);
    const bool on_bytes = width_ >= 8 || (x_offsets_.step() == 1 &&
                                          x_offsets_.all_on(8 / std::gcd(width_, int64_t{8})) &&
                                          x_offsets_.row(tile) * width_ % 8 == 0);
    if (as_stored && on_bytes) {
      gather_codes(data, at, next, width_, x_offsets_, tile, codes_);
    } else {
      gather_unpacked(x, data, at, next, x_offsets_, tile, codes_);
      x = unpacked(x);
    }
    return codes_;
  }

  /// The parameters of a tile at given offsets. Loads nothing if the tile has the parameters of the
  /// tile before.
  TileParams load_params(const Tile& tile, const Offsets& at) noexcept {
    size_t i = last_ + 1;
    int64_t group = 1;
    while (i > tile.outermost && repeats_params(dimensions_[i - 1])) {
      group *= tile.size(dimensions_, --i);
    }
    const bool groups = group >= kShortGroup || group == tile.elements;
    const int64_t count = groups ? tile.elements / group : tile.elements;
    if (tile.outermost != params_tile_.outermost || tile.count > params_tile_.count ||
        at.scale != params_at_.scale || at.zero_point != params_at_.zero_point ||
        at.group_index != params_at_.group_index) {
      const Dimensions used =
          dimensions_.first(groups ? std::max(i, tile.outermost + 1) : last_ + 1);
      const Tile shorter{tile.outermost, count == 1 ? 1 : tile.count, count};
      if (plan_.parameters.group_index.groups != 0) {
        gather_indexed_scales(plan_, job_.buffers, used, shorter, at, scale_);
        if (has_zeros_) gather_indexed_zeros(plan_, job_.buffers, used, shorter, at, zero_);
      } else {
        gather_scales(plan_, job_.buffers, used, shorter, at.scale, scale_);
        const Helpers& helpers = job_.table.helpers;
        if (has_zeros_) {
          gather_zeros(plan_, job_.buffers, helpers, used, shorter, at.zero_point, zero_);
        }
      }
      params_ = {scale_, zero_, nullptr,
                 job_.table.helpers.all_finite_normal(scale_, static_cast<size_t>(count),
                                                      !has_infinity(plan_.input))};
      params_count_ = count;
      params_tile_ = tile;
      params_at_ = at;
    } else if (!groups && params_.scale16 == nullptr) {
      params_ = narrow_.of(params_, params_count_);  // pays from the second use on
    }
    return {groups ? ScaleLayout::per_group : ScaleLayout::per_element, groups ? group : 1,
            params_};
  }

  /// Dequantizes `rows` indices of the dimension before the innermost through transposed codes.
  int64_t run_transposed(int64_t rows) noexcept {
    transpose_codes(rows);
    const Dimension& outer = dimensions_[last_ - 1];
    const bool contiguous = outer.y == inner_.size;
    const bool one_scale = repeats_params(inner_);
    const int64_t at_once = one_scale ? rows : contiguous ? kParams / inner_.size : 1;
    Offsets at = here_.offsets();
    here_.advance(last_ - 1, rows);
    for (int64_t done = 0; done < rows;) {
      const int64_t n = std::min(at_once, rows - done);
      run_rows(load_params({last_ - 1, n, n * inner_.size}, at), at.y, done, n, rows);
      done += n;
      at.step(outer, n);
    }
    return rows * inner_.size;
  }

  /// Dequantizes `count` of the `rows` rows in codes_, from row `first` on, to element y.
  void run_rows(TileParams s, int64_t y, int64_t first, int64_t count, int64_t rows) noexcept {
    const Dimension& outer = dimensions_[last_ - 1];
    const bool contiguous = outer.y == inner_.size;
    const int64_t n = contiguous ? count : 1;
    for (int64_t r = 0; r < count; r += n) {
      if (job_.way.stream && !job_.way.unpacks) fetch(first + r, n, rows);
      calls_.call(unpacked(plan_.input), s.scale_layout,
                  codes_ + (first + r) * inner_.size * code_size_, y_at(y + r * outer.y),
                  n * inner_.size, s.group, s.params);
      if (s.group == inner_.size) ++s.params.scale, ++s.params.zero;
    }
  }

  /// Prefetches codes of the next transpose while `count` of `of` rows are dequantized: the same
  /// fraction of them.
  [[gnu::always_inline]] void fetch(int64_t first, int64_t count, int64_t of) const noexcept {
    const int64_t end = (first + count) * inner_.size / of;
    for (int64_t k = first * inner_.size / of; k < end; ++k) {
      const uint8_t* line = x_at(here_.offsets().x + k * inner_.x);
      for (int64_t i = 0; i < of * width_ / 8; i += kCacheLineBytes) __builtin_prefetch(line + i);
    }
  }

  /// Transposes the codes of `rows` indices of the dimension before the innermost to codes_.
  void transpose_codes(int64_t rows) noexcept {
    const Dimension& outer = dimensions_[last_ - 1];
    const int64_t at = here_.offsets().x;
    TransposeArgs args{.from = x_at(at),
                       .from_stride = inner_.x * code_size_,
                       .to = codes_,
                       .to_stride = static_cast<size_t>(inner_.size * code_size_),
                       .rows = static_cast<size_t>(inner_.size),
                       .columns = static_cast<size_t>(rows)};
    if (outer.x != 1 || width_ < 8 || job_.way.unpacks) {
      // Codes without gaps are unpacked by one call.
      const bool contiguous = outer.x == 1 && inner_.x == rows;
      const int64_t spans = contiguous ? 1 : inner_.size;
      const int64_t span = rows * inner_.size / spans;
      if (outer.x == 1) {
        x_codes_.unpack_lines(at, inner_.x, spans, span, spare_);
      } else {
        for (int64_t k = 0; k < spans; ++k)
          x_codes_.unpack(at + k * inner_.x, outer.x, span, spare_ + k * span * code_size_);
      }
      args.from = spare_;
      args.from_stride = rows * code_size_;
    }
    job_.table.transpose[static_cast<size_t>(std::countr_zero(static_cast<size_t>(code_size_)))](
        args);
  }

  const Job& job_;
  KernelCalls calls_;
  const Plan& plan_;
  const StridedWay& way_;
  const Dimensions dimensions_;
  const size_t last_;
  const Dimension& inner_;
  const bool has_zeros_;
  const int64_t width_;
  const int64_t code_size_;
  const PackedCodes x_codes_;
  Odometer here_;
  int64_t left_;
  const int64_t most_;
  Tile full_{0, 0, 0};          ///< the largest tile from index 0 of all dimensions on
  Tile offsets_tile_{0, 0, 0};  ///< the tile of x_offsets_ and y_offsets_
  Tile params_tile_{0, 0, 0};   ///< the tile of params_
  Offsets params_at_;           ///< where that tile starts
  Params params_{};
  int64_t params_count_ = 0;
  NarrowParams narrow_;
  RowOffsets x_offsets_;
  RowOffsets y_offsets_;
  alignas(64) float scale_[kParams];
  alignas(64) int32_t zero_[kParams];
  alignas(64) uint8_t codes_[kTransposed + Helpers::kUnpackSlack];
  /// Results of a tile, or codes before they are transposed.
  alignas(64) uint8_t spare_[kTransposed + Helpers::kUnpackSlack];
};

}  // namespace

void run_strided(const Job& job, Range elements) noexcept {
  int64_t begin = 0;
  for (const Phase phase : {Phase::blocks, Phase::rest}) {
    const StridedWay& way = job.way.strided[static_cast<size_t>(phase)];
    const int64_t end = begin + way.elements;
    const Range own{std::max(elements.begin, begin) - begin, std::min(elements.end, end) - begin};
    if (own.begin < own.end)
      Strided(job, way, loop_order_of(job.plan, *job.region, phase), own).run();
    if (elements.end <= end) return;
    begin = end;
  }
}

}  // namespace dequant
