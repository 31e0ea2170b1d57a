// The bytes of a tile, each with the codes of two rows of y, are transposed. Then the codes in the
// low bits of all bytes are rows of y, and so are those in the high bits; a kernel call dequantizes
// each row, with a scale for each column.
#include "execute/column_tiles.h"

#include <algorithm>

#include "checked.h"
#include "execute/gather.h"
#include "execute/matrix_job.h"
#include "execute/odometer.h"
#include "execute/parameters.h"

namespace dequant {
namespace {

/// Fewer rows or columns are not worth a tile.
constexpr int64_t kFew = 16;
/// Rows of a tile: their codes fill a cache line of x.
constexpr int64_t kRows = 128;
constexpr int64_t kColumns = 256;
/// Most groups of a tile.
constexpr int64_t kGroups = kParams / kColumns;

/// True if rows of y start on bytes of x.
bool starts_on_bytes(const Region& region, size_t first) {
  const auto even = [](const Dimension& d) { return d.x % 2 == 0; };
  const Dimensions d = region.dimensions();
  return region.origin.x % 2 == 0 && even(d.back()) &&
         std::all_of(d.begin(), d.begin() + static_cast<ptrdiff_t>(first), even);
}

}  // namespace

std::optional<ColumnTiles> column_tiles_of(const Plan& plan, const Region& region) noexcept {
  if (plan.input != Element::float4e2m1 || !has_plain_kernels(plan)) return std::nullopt;
  if (plan.parameters.group_index.groups != 0 || region.rank < 2) return std::nullopt;
  const Dimension& columns = region.list[region.rank - 1];
  const Dimension& inner = region.list[region.rank - 2];
  if (columns.y != 1 || columns.size < kFew || inner.x != 1 || inner.scale != 0) {
    return std::nullopt;
  }
  ColumnTiles tiles{{columns.size, kRows}, region.rank - 2, inner.size, inner.size};
  if (region.rank > 2) {
    const Dimension& outer = region.list[region.rank - 3];
    const bool follows = outer.x == inner.size && outer.y == inner.size * inner.y;
    if (follows && inner.size % 2 == 0 && kRows % inner.size == 0 &&
        inner.size >= kRows / kGroups) {
      tiles.first = region.rank - 3;
      tiles.rows = outer.size * inner.size;
      tiles.groups = outer;
    }
  }
  // A matrix of an odd number of rows may end within a tile, and the next tile start within a byte.
  if (tiles.first > 0 && tiles.rows % 2 != 0) return std::nullopt;
  if (tiles.rows < kFew || !starts_on_bytes(region, tiles.first)) return std::nullopt;
  return tiles;
}

namespace {

class Tiles : MatrixJob {
 public:
  Tiles(const Job& job, const ColumnTiles& tiles) noexcept : MatrixJob(job), tiles_(tiles) {}

  /// Rows [begin, end), counted over the dimensions of rows and the dimensions outside of them.
  void run(int64_t begin, int64_t end) noexcept {
    Odometer outside(region_.dimensions().first(tiles_.first), region_.origin, begin / tiles_.rows);
    while (begin < end) {
      const int64_t row = begin % tiles_.rows;
      const int64_t n = std::min({tiles_.rows - row, end - begin, kRows});
      run_rows(outside.offsets(), row, n);
      begin += n;
      if (begin % tiles_.rows == 0 && begin < end) outside.advance(tiles_.first - 1, 1);
    }
  }

 private:
  /// All columns of some rows of a matrix that starts at `at`.
  void run_rows(Offsets at, int64_t row, int64_t rows) noexcept {
    at.step(row_, row);
    at.scale += row / tiles_.group * tiles_.groups.scale;
    for (int64_t done = 0, n = 0; done < tiles_.columns; done += n) {
      n = std::min(kColumns, tiles_.columns - done);
      load_scales(at.scale, ceil_div(rows, tiles_.group), n);
      transpose(at.x, rows, n);
      Offsets next = at;
      next.step(column_, n);
      const int64_t more = std::min(kColumns, tiles_.columns - done - n);
      dequantize(at.y, rows, n, x_.lines_of_rows(next.x, rows, more, column_.x));
      at = next;
    }
  }

  /// Loads the scales of a tile: the scale of group g and column c to entry g * columns + c.
  void load_scales(int64_t at, int64_t groups, int64_t columns) noexcept {
    Dimension group = tiles_.groups;
    Dimension column = column_;
    group.size = groups;
    column.size = columns;
    static_assert(sizeof codes_ >= kParams * sizeof *scale_);
    gather_matrix(job_.plan, job_.buffers, job_.table, group, column, &Dimension::scale, at, codes_,
                  scale_);
    finite_normal_ = job_.table.helpers.all_finite_normal(
        scale_, static_cast<size_t>(groups * columns), !has_infinity(job_.plan.input));
  }

  /// Transposes the codes of a tile. The codes of row r start at byte (r % 2 * pairs + r / 2) *
  /// row_bytes(columns) of codes_.
  void transpose(int64_t at, int64_t rows, int64_t columns) noexcept {
    const int64_t pairs = ceil_div(rows, 2);
    const int64_t pitch = 2 * row_bytes(columns);
    x_.transpose_bytes(x_.lines_of_rows(at, 2 * pairs, columns, column_.x), bytes_, pitch);
    const int64_t count = pairs * pitch;
    job_.table.helpers.split_nibbles(bytes_, static_cast<size_t>(count), codes_,
                                     codes_ + count / 2);
  }

  static int64_t row_bytes(int64_t columns) { return ceil_div(columns, 2); }

  /// Dequantizes a tile to element `y`: every second row of a group at once, while it prefetches
  /// the lines of the next tile.
  void dequantize(int64_t y, int64_t rows, int64_t columns,
                  const PackedCodes::Lines& lines) const noexcept {
    const int64_t y_row = row_.y * calls_.y_size();
    auto* out = reinterpret_cast<uint8_t*>(job_.buffers.y.data()) + y * calls_.y_size();
    const int64_t bytes = row_bytes(columns);
    for (int64_t first = 0, done = 0, g = 0; first < rows; first += tiles_.group, ++g) {
      const int64_t n = std::min(tiles_.group, rows - first);
      for (const int64_t odd : {0, 1}) {
        const int64_t count = (n - odd + 1) / 2;
        lines.part(done, count, rows).fetch();
        done += count;
        calls_.rows(job_.plan.input, ScaleLayout::per_element,
                    codes_ + (odd * ceil_div(rows, 2) + first / 2) * bytes,
                    out + (first + odd) * y_row, {count, columns, bytes, 2 * y_row, 0}, 1,
                    {scale_ + g * columns, zero_, nullptr, finite_normal_});
      }
    }
  }

  const ColumnTiles tiles_;
  bool finite_normal_ = false;
  int32_t zero_[kColumns] = {};  ///< floats have none, but kernels advance the pointer
  alignas(64) float scale_[kParams];
  /// Transposed bytes. Rows of an odd number of columns have one byte more, which is 0.
  alignas(64) uint8_t bytes_[kRows / 2 * kColumns] = {};
  alignas(64) uint8_t codes_[kRows * kColumns / 2];
};

}  // namespace

void run_column_tiles(const Job& job, Range elements) noexcept {
  const ColumnTiles tiles = *column_tiles_of(job.plan, *job.region);
  Tiles(job, tiles).run(elements.begin / tiles.columns, elements.end / tiles.columns);
}

}  // namespace dequant
