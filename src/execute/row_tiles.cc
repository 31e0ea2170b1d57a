// Tiles of rows and columns of y. The codes of a tile are unpacked to bytes in the order of y, the
// parameters of the tile are gathered, and a kernel call dequantizes each row of the tile.
#include "execute/row_tiles.h"

#include <algorithm>
#include <array>

#include "checked.h"
#include "element/codes.h"
#include "execute/gather.h"
#include "execute/indexed.h"
#include "execute/kernel_calls.h"
#include "execute/loop_order.h"
#include "execute/odometer.h"
#include "execute/packed_codes.h"
#include "plan/packing.h"

namespace dequant {
namespace {

/// Fewer rows are not worth a tile.
constexpr int64_t kFewRows = 8;
/// Columns of a tile: of words that run down columns, of rows of x, and where each element has
/// parameters of its own.
constexpr int64_t kColumnsOfWords = 256;
constexpr int64_t kColumnsOfRows = 128;
constexpr int64_t kColumnsOfParams = 64;
constexpr int64_t kTransposed = PackedCodes::kTransposed;
/// Rows between two prefetches.
constexpr int64_t kRowsAtOnce = 16;
/// Shorter groups, and runs of one group in a group index, are slower than a scale for each
/// element.
constexpr int64_t kShortGroup = 16;
/// Codes of a tile, and of one where each element has parameters of its own.
constexpr int64_t kCodes = 32 << 10;
static_assert(kCodes >= PackedCodes::kMatrixCodes);
constexpr int64_t kCodesOfParams = kParams;
static_assert(kCodes / kShortGroup <= kParams);

constexpr auto kCacheLineBytes = static_cast<int64_t>(kCacheLine);

/// The dimension of rows, outside of dimensions whose elements are contiguous in y and equally far
/// apart in x.
std::optional<RowTiles> matrix_of(const Plan& plan, const Region& region) {
  const Packing& packing = plan.parameters.x_packing;
  const Dimensions d = region.dimensions();
  if (d.size() < 2 || d.back().y != 1) return std::nullopt;
  const bool down = runs_down_columns(packing);
  // Words, or columns, of the rows of a chunk fill whole cache lines of x. Memory delivers pairs of
  // cache lines faster.
  const int64_t lines = down ? 1 : std::max(2 * 8 / packing.bits, 1);
  RowTiles out{{d.back().size, lines * kCacheLineBytes}, d.size() - 1, d.back().x, down};
  while (out.row-- > 0) {
    const Dimension& outer = d[out.row];
    if (outer.x == (down ? packing.row : 1)) return out;
    if (outer.y != out.columns || outer.x != out.x_step * out.columns) break;
    out.columns *= outer.size;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RowTiles> row_tiles_of(const Plan& plan, const Region& region) noexcept {
  const Packing& packing = plan.parameters.x_packing;
  if (packing.row == 0) return std::nullopt;
  const auto tiles = matrix_of(plan, region);
  if (!tiles || tiles->columns == 0 || region.list[tiles->row].size < kFewRows) {
    return std::nullopt;
  }
  if (!tiles->down_columns) return tiles;
  // All columns are in one row of x, wherever the dimensions outside begin.
  const bool one_row = region.origin.x % packing.row + tiles->columns <= packing.row;
  const Dimensions outside = region.dimensions().first(tiles->row);
  const bool whole_rows = std::all_of(outside.begin(), outside.end(),
                                      [&](const Dimension& d) { return d.x % packing.row == 0; });
  return tiles->x_step == 1 && one_row && whole_rows ? tiles : std::nullopt;
}

namespace {

class Tiles {
  /// Words of a tile, or codes before they are transposed, or parameters.
  static constexpr int64_t kSpare = PackedCodes::kMatrixBytes;

 public:
  Tiles(const Job& job, const RowTiles& tiles) noexcept
      : job_(job),
        calls_(job),
        tiles_(tiles),
        region_(*job.region),
        row_(region_.list[tiles.row]),
        has_zeros_(has_zero_points(job.plan)),
        x_(job.plan.input, job.plan.parameters.x_packing, job.table, job.buffers.x, job.x_byte) {
    const Dimensions columns = region_.dimensions().subspan(tiles.row + 1);
    int64_t group = 1;
    size_t i = columns.size();
    while (i > 0 && repeats(columns[i - 1])) group *= columns[--i].size;
    per_element_ = i != 0 && group < kShortGroup;
    const int64_t most = per_element_         ? kColumnsOfParams
                         : tiles.down_columns ? kColumnsOfWords
                                              : kColumnsOfRows;
    most_columns_ = std::min(most, tiles.columns);
    most_rows_ = std::min((per_element_ ? kCodesOfParams : kCodes) / most_columns_, kParams);
    if (tiles.down_columns) most_rows_ = std::min(most_rows_, x_.most_rows(most_columns_));
    if (!tiles.down_columns) most_rows_ = std::min(most_rows_, kSpare / (2 * kTransposed));
    if (most_rows_ > tiles.aligned) most_rows_ = most_rows_ / tiles.aligned * tiles.aligned;
  }

  /// Rows [begin, end), counted over the dimension of rows and the dimensions outside of it.
  void run(int64_t begin, int64_t end) noexcept {
    Odometer here(region_.dimensions().first(tiles_.row + 1), region_.origin, begin);
    while (begin < end) {
      const int64_t n = std::min({here.left(tiles_.row), end - begin, most_rows_});
      run_rows(here.offsets(), n);
      here.advance(tiles_.row, n);
      begin += n;
    }
  }

 private:
  /// True if all indices of a dimension have the same parameters.
  bool repeats(const Dimension& d) const {
    return d.scale == 0 && d.group_index == 0 && (d.zero_point == 0 || !has_zeros_);
  }

  /// The number of columns from `at` on, `left` or those of a tile at most, whose entries in the
  /// group index are equal; 0 for a plan without a group index. GPTQ without act-order stores an
  /// index of whole groups; gathering parameters for each of its elements takes ten times as long.
  int64_t run_of_group(const Offsets& at, int64_t left) const noexcept {
    const Dimension& d = region_.list[tiles_.row + 1];
    const std::byte* index = job_.buffers.group_index.data();
    const bool is_only_one = tiles_.row + 2 == region_.rank && d.scale == 0 && d.zero_point == 0;
    if (index == nullptr || d.group_index == 0 || !is_only_one) return 0;
    const auto group = [&](int64_t i) {
      return load_code(32, index, at.group_index + i * d.group_index);
    };
    const int64_t most = std::min(left, most_columns_);
    int64_t n = 1;
    while (n < most && group(n) == group(0)) ++n;
    return n;
  }

  /// All columns of some rows.
  void run_rows(const Offsets& at, int64_t rows) noexcept {
    Odometer here(region_.dimensions().subspan(tiles_.row + 1), at, 0);
    for (int64_t done = 0; done < tiles_.columns;) {
      const Offsets from = here.offsets();
      const int64_t run = run_of_group(from, tiles_.columns - done);
      one_group_ = run >= kShortGroup;
      const Tile tile = here.largest_tile(one_group_ ? run : most_columns_);
      here.advance(tile.outermost, tile.count);
      done += tile.elements;
      load_params(from, rows, tile);
      const int64_t next = std::min(tiles_.columns - done, most_columns_);
      const bool fetches = job_.way.stream && next > 0;
      const auto lines = fetches ? lines_of(here.offsets().x, rows, next) : PackedCodes::Lines{};
      if (takes_pairs(from.x, rows, tile.elements)) {
        unpack_pairs(from.x, rows, tile.elements);
        dequantize_pairs(rows, tile.elements, from.y, lines);
        continue;
      }
      if (tiles_.down_columns) {
        unpack_words(from.x, rows, tile.elements);
      } else {
        unpack_columns(from.x, rows, tile.elements);
      }
      dequantize({job_.plan.input, rows, tile.elements, pitch_, row_.y, 1}, codes_ + lead_, from.y,
                 0, lines);
    }
  }

  /// True if the kernel for uint4 takes the codes of a tile in pairs: no group ends within one.
  bool takes_pairs(int64_t at, int64_t rows, int64_t columns) const noexcept {
    const bool whole = columns % 2 == 0 && (group_ % 2 == 0 || group_ == 1);
    return whole && !tiles_.down_columns && !job_.plan.parameters.codebook &&
           x_.are_pairs(at, tiles_.x_step, rows);
  }

  /// What a tile from code `at` on reads.
  PackedCodes::Lines lines_of(int64_t at, int64_t rows, int64_t columns) const noexcept {
    if (tiles_.down_columns) return x_.lines_of_matrix(at, rows, columns);
    return x_.lines_of_rows(at, rows, columns, tiles_.x_step);
  }

  /// Unpacks the codes of a tile: row r of y lies at codes_ + lead_ + r * pitch_.
  void unpack_words(int64_t at, int64_t rows, int64_t columns) noexcept {
    lead_ = x_.unpack_matrix(at, rows, columns, codes_, spare_);
    pitch_ = lead_ + columns;
  }

  /// The same for rows of x, some columns of y at once, while the next are prefetched: far apart,
  /// the lines of a tile evict one another from the nearest cache.
  void unpack_columns(int64_t at, int64_t rows, int64_t columns) noexcept {
    lead_ = 0;
    pitch_ = columns;
    for (int64_t k = 0, n = 0; k < columns; k += n) {
      n = columns - k < 2 * kTransposed ? columns - k : kTransposed;
      const int64_t next = std::min(kTransposed, columns - k - n);
      if (next > 0) lines_of(at + (k + n) * tiles_.x_step, rows, next).fetch();
      x_.unpack_lines(at + k * tiles_.x_step, tiles_.x_step, n, rows, spare_);
      job_.table.transpose[0]({.from = spare_,
                               .from_stride = rows,
                               .to = codes_ + k,
                               .to_stride = static_cast<size_t>(columns),
                               .rows = static_cast<size_t>(n),
                               .columns = static_cast<size_t>(rows)});
    }
  }

  /// The same for pairs of codes, which are transposed as bytes: first the codes in the low bits of
  /// all bytes, then those in the high bits, each four bits for the kernel for uint4.
  void unpack_pairs(int64_t at, int64_t rows, int64_t columns) noexcept {
    x_.transpose_bytes(lines_of(at, rows, columns), spare_, columns);
    const int64_t count = rows / 2 * columns;
    job_.table.helpers.split_nibbles(spare_, static_cast<size_t>(count), codes_,
                                     codes_ + count / 2);
  }

  /// Dequantizes the tile of unpack_pairs(): every eighth row at once, whose codes lie in the same
  /// bits of a word.
  void dequantize_pairs(int64_t rows, int64_t columns, int64_t y,
                        const PackedCodes::Lines& lines) const noexcept {
    constexpr int64_t kInWord = 8;
    const bool interleaved = job_.plan.parameters.x_packing.order == CodeOrder::interleaved;
    for (int64_t field = 0; field < kInWord; ++field) {
      const int64_t byte = field % 2 * (rows / 2) + field / 2;
      const int64_t first = !interleaved          ? field
                            : field < kInWord / 2 ? 2 * field
                                                  : 2 * field - (kInWord - 1);
      dequantize({Element::uint4, rows / kInWord, columns, kInWord / 2 * columns / 2,
                  kInWord * row_.y, kInWord},
                 codes_ + byte * columns / 2, y + first * row_.y, first,
                 lines.part(field, 1, kInWord));
    }
  }

  /// Loads the parameters of a tile: `params_of_row_` for each row, or the same for all rows.
  void load_params(const Offsets& at, int64_t rows, const Tile& tile) noexcept {
    // Gathered with the rows innermost: parameters of neighbouring rows are often neighbours.
    std::array<Dimension, kMostDimensions> list;
    size_t rank = 0;
    const size_t first = tiles_.row + 1 + tile.outermost;
    for (size_t i = first; i < region_.rank; ++i) {
      list[rank++] = region_.list[i];
      if (i == first) list[0].size = tile.count;
    }
    group_ = 1;
    if (one_group_) {
      group_ = tile.elements;
      rank = 0;
    } else if (!per_element_) {
      while (rank > 0 && repeats(list[rank - 1])) group_ *= list[--rank].size;
    }
    params_of_row_ = tile.elements / group_;
    rows_differ_ = !repeats(row_);
    list[rank] = rows_differ_ ? row_ : Dimension{};
    list[rank].size = rows_differ_ ? rows : 1;
    const Dimensions dimensions(list.data(), rank + 1);
    const Tile all{0, dimensions[0].size, params_of_row_ * dimensions[rank].size};
    gather(dimensions, all, at);
    finite_normal_ = job_.table.helpers.all_finite_normal(scale_, static_cast<size_t>(all.elements),
                                                          !has_infinity(job_.plan.input));
  }

  void gather(Dimensions dimensions, const Tile& tile, const Offsets& at) noexcept {
    const Plan& plan = job_.plan;
    const bool indexed = plan.parameters.group_index.groups != 0;
    // One entry for each row needs no transposition.
    const bool in_place = params_of_row_ == 1;
    auto* words = reinterpret_cast<uint32_t*>(spare_);
    static_assert(sizeof spare_ >= kParams * sizeof *words);
    float* scales = in_place ? scale_ : reinterpret_cast<float*>(words);
    indexed ? gather_indexed_scales(plan, job_.buffers, dimensions, tile, at, scales)
            : gather_scales(plan, job_.buffers, dimensions, tile, at.scale, scales);
    if (!in_place) by_rows(words, tile.elements, reinterpret_cast<uint8_t*>(scale_));
    if (!has_zeros_) {
      std::fill_n(zero_, tile.elements, plan.implicit_zero_point);
      return;
    }
    int32_t* zeros = in_place ? zero_ : reinterpret_cast<int32_t*>(words);
    const Helpers& helpers = job_.table.helpers;
    indexed ? gather_indexed_zeros(plan, job_.buffers, dimensions, tile, at, zeros)
            : gather_zeros(plan, job_.buffers, helpers, dimensions, tile, at.zero_point, zeros);
    if (!in_place) by_rows(words, tile.elements, reinterpret_cast<uint8_t*>(zero_));
  }

  /// From parameters with the rows innermost to those of one row after those of the other.
  void by_rows(const uint32_t* words, int64_t count, uint8_t* out) const noexcept {
    const int64_t rows = count / params_of_row_;
    job_.table.transpose[2]({.from = reinterpret_cast<const uint8_t*>(words),
                             .from_stride = rows * 4,
                             .to = out,
                             .to_stride = static_cast<size_t>(params_of_row_) * 4,
                             .rows = static_cast<size_t>(params_of_row_),
                             .columns = static_cast<size_t>(rows)});
  }

  /// Rows of a tile, and the distances from one to the next.
  struct Rows {
    Element x;  ///< of the codes
    int64_t count;
    int64_t columns;
    int64_t codes;  ///< bytes
    int64_t y;      ///< elements
    int64_t apart;  ///< rows of the tile
  };

  /// Dequantizes rows from row `first` of a tile on to element y, while it prefetches the lines.
  void dequantize(const Rows& rows, const uint8_t* codes, int64_t y, int64_t first,
                  const PackedCodes::Lines& lines) const noexcept {
    const auto layout =
        per_element_ && !one_group_ ? ScaleLayout::per_element : ScaleLayout::per_group;
    const int64_t params = rows_differ_ ? params_of_row_ : 0;
    const int64_t y_row = rows.y * calls_.y_size();
    auto* out = reinterpret_cast<uint8_t*>(job_.buffers.y.data()) + y * calls_.y_size();
    for (int64_t r = 0, n = 0; r < rows.count; r += n) {
      n = std::min(kRowsAtOnce, rows.count - r);
      lines.part(r, n, rows.count).fetch();
      const int64_t param = (first + r * rows.apart) * params;
      calls_.rows(rows.x, layout, codes + r * rows.codes, out + r * y_row,
                  {n, rows.columns, rows.codes, y_row, rows.apart * params}, group_,
                  {scale_ + param, zero_ + param, nullptr, finite_normal_});
    }
  }

  const Job& job_;
  KernelCalls calls_;
  const RowTiles tiles_;
  const Region& region_;
  const Dimension& row_;
  const bool has_zeros_;
  const PackedCodes x_;
  bool per_element_ = false;
  bool one_group_ = false;  ///< the tile is in one group of the group index
  int64_t most_columns_ = 0;
  int64_t most_rows_ = 0;
  int64_t lead_ = 0;
  int64_t pitch_ = 0;
  int64_t group_ = 1;
  int64_t params_of_row_ = 1;
  bool rows_differ_ = true;
  bool finite_normal_ = false;
  alignas(64) float scale_[kParams];
  alignas(64) int32_t zero_[kParams];
  alignas(64) uint8_t codes_[kCodes + Helpers::kUnpackSlack];
  alignas(64) uint8_t spare_[kSpare];
};

}  // namespace

void run_row_tiles(const Job& job, Range elements) noexcept {
  const auto tiles = row_tiles_of(job.plan, *job.region);
  Tiles(job, *tiles).run(elements.begin / tiles->columns, elements.end / tiles->columns);
}

}  // namespace dequant
