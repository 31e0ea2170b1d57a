// A byte has the codes of two rows. The bytes of a tile are split into the codes of the low bits,
// which are the first row, and the codes of the high bits, which are the second row. A kernel call
// dequantizes each row.
#include "execute/pair_tiles.h"

#include <algorithm>

#include "execute/gather.h"
#include "execute/kernel_calls.h"
#include "execute/odometer.h"
#include "execute/parameters.h"

namespace dequant {
namespace {

/// Shorter groups are not worth a tile.
constexpr int64_t kShortGroup = 16;
/// Columns of a tile.
constexpr int64_t kTileColumns = 4096;
static_assert(2 * kTileColumns / kShortGroup <= kParams);

bool is_even(int64_t i) { return i % 2 == 0; }

/// Codes of 4 bits without zero points, whose kernels need one factor.
bool suits(const Plan& plan, const Region& region) {
  return bits(plan.input) == 4 && !unpacks_codes(plan) && has_plain_kernels(plan) &&
         !has_zero_points(plan) && plan.parameters.group_index.groups == 0 &&
         is_even(region.origin.x);
}

}  // namespace

std::optional<PairTiles> pair_tiles_of(const Plan& plan, const Region& region) noexcept {
  const Dimensions d = region.dimensions();
  if (!suits(plan, region) || d.size() < 2 || d.back().y != 1 || d.back().x != 2) {
    return std::nullopt;
  }
  const Dimension& columns = d.back();
  PairTiles tiles{{columns.size, 2}, d.size() - 2, columns.size};
  if (d[tiles.pair].x != 1 && d.size() > 2) {
    tiles.groups = d[tiles.pair--];
    if (tiles.groups.x != 2 * columns.size || tiles.groups.y != columns.size) return std::nullopt;
    tiles.columns *= tiles.groups.size;
  }
  const Dimension& pair = d[tiles.pair];
  const bool whole = is_even(tiles.group) && tiles.group >= kShortGroup && columns.scale == 0;
  const Dimensions outside = d.first(tiles.pair);
  const bool on_bytes =
      std::all_of(outside.begin(), outside.end(), [](const Dimension& o) { return is_even(o.x); });
  if (pair.x != 1 || pair.size != 2 || !whole || !on_bytes) return std::nullopt;
  return tiles;
}

namespace {

class Tiles {
 public:
  Tiles(const Job& job, const PairTiles& tiles) noexcept
      : job_(job),
        calls_(job),
        tiles_(tiles),
        pair_(job.region->list[tiles.pair]),
        most_columns_(tiles.group < kTileColumns ? kTileColumns / tiles.group * tiles.group
                                                 : kTileColumns) {
    std::fill(std::begin(zero_), std::end(zero_), job.plan.implicit_zero_point);
  }

  /// Pairs [begin, end), counted over the dimensions outside of them.
  void run(int64_t begin, int64_t end) noexcept {
    const Dimensions outside = job_.region->dimensions().first(tiles_.pair);
    Odometer here(outside, job_.region->origin, begin);
    while (begin < end) {
      run_pair(here.offsets());
      if (++begin < end) here.advance(tiles_.pair - 1, 1);
    }
  }

 private:
  /// All columns of two rows.
  void run_pair(const Offsets& at) noexcept {
    const auto* bytes = reinterpret_cast<const uint8_t*>(job_.buffers.x.data()) + at.x / 2;
    auto* y = reinterpret_cast<uint8_t*>(job_.buffers.y.data()) + at.y * calls_.y_size();
    for (int64_t done = 0, n = 0; done < tiles_.columns; done += n) {
      // A tile has whole groups, or columns of one group.
      const int64_t left = tiles_.columns - done;
      const int64_t left_of_group = tiles_.group - done % tiles_.group;
      n = std::min({most_columns_, left, tiles_.group < kTileColumns ? left : left_of_group});
      const int64_t groups = std::max<int64_t>(n / tiles_.group, 1);
      if (done % tiles_.group == 0) {
        load_scales(at.scale + done / tiles_.group * tiles_.groups.scale, groups);
      }
      job_.table.helpers.split_nibbles(bytes + done, static_cast<size_t>(n), codes_,
                                       codes_ + kTileColumns / 2);
      calls_.rows(job_.plan.input, ScaleLayout::per_group, codes_, y + done * calls_.y_size(),
                  {2, n, kTileColumns / 2, pair_.y * calls_.y_size(), groups},
                  std::min(tiles_.group, n), {scale_, zero_, nullptr, finite_normal_});
    }
  }

  /// Loads scales from entry `at` on: first the scales of the first row of the pair, then the
  /// scales of the second row.
  void load_scales(int64_t at, int64_t groups) noexcept {
    Dimension group = tiles_.groups;
    group.size = groups;
    static_assert(sizeof codes_ >= 2 * kTileColumns / kShortGroup * sizeof *scale_);
    gather_matrix(job_.plan, job_.buffers, job_.table, pair_, group, &Dimension::scale, at, codes_,
                  scale_);
    finite_normal_ = job_.table.helpers.all_finite_normal(scale_, static_cast<size_t>(2 * groups),
                                                          !has_infinity(job_.plan.input));
  }

  const Job& job_;
  KernelCalls calls_;
  const PairTiles tiles_;
  const Dimension& pair_;
  const int64_t most_columns_;
  bool finite_normal_ = false;
  int32_t zero_[2 * kTileColumns / kShortGroup];
  alignas(64) float scale_[2 * kTileColumns / kShortGroup];
  alignas(64) uint8_t codes_[kTileColumns];
};

}  // namespace

void run_pair_tiles(const Job& job, Range elements) noexcept {
  const PairTiles tiles = *pair_tiles_of(job.plan, *job.region);
  const int64_t pair = 2 * tiles.columns;
  Tiles(job, tiles).run(elements.begin / pair, elements.end / pair);
}

}  // namespace dequant
