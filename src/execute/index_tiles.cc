// The scales and zero points of all groups are loaded once for some rows, into a table. The codes
// of a tile are unpacked with the rows innermost. A kernel call dequantizes a column with the
// entries of the column's group in the table. The results are transposed to y.
#include "execute/index_tiles.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checked.h"
#include "element/codes.h"
#include "execute/gather.h"
#include "execute/matrix_job.h"
#include "execute/odometer.h"
#include "execute/parameters.h"
#include "execute/row_tiles.h"
#include "execute/unpack.h"
#include "plan/packing.h"

namespace dequant {
namespace {

/// Fewer rows or columns are not worth a tile.
constexpr int64_t kFew = 8;
/// Rows and columns of a tile. A step of the kernels has up to 64 elements, here rows.
constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 128;
constexpr int64_t kCodes = kRows * kColumns;
/// The table has the parameters of so many groups for the rows of a tile: 14336 columns in groups
/// of 32 have as many.
constexpr int64_t kMostGroups = 448;
constexpr int64_t kTable = kMostGroups * kRows;
/// Columns of a unit of words. The first column of a tile may lie within one.
constexpr int64_t kUnit = 32;
/// Columns between two prefetches.
constexpr int64_t kColumnsAtOnce = 8;
/// Where neighbouring columns of one group are so many on average, row tiles are faster: one scale
/// for each row.
constexpr int64_t kLongRun = 16;

std::optional<IndexTiles::Codes> codes_of(const Plan& plan, const Region& region) {
  const Packing& packing = plan.parameters.x_packing;
  const Dimension& rows = region.list[region.rank - 2];
  if (rows.x == 1) return IndexTiles::Codes::columns;
  if (!runs_down_columns(packing)) {
    if (region.list[region.rank - 1].x != 1) return std::nullopt;
    return IndexTiles::Codes::rows;
  }
  const bool are_bytes = packing.order == CodeOrder::stream && 8 % packing.bits == 0 &&
                         kind(plan.input) == Kind::unsigned_integer;
  const auto tiles = row_tiles_of(plan, region);
  if (!are_bytes || !tiles || tiles->row != region.rank - 2) return std::nullopt;
  return IndexTiles::Codes::bytes_of_words;
}

}  // namespace

std::optional<IndexTiles> index_tiles_of(const Plan& plan, const Region& region) noexcept {
  const int64_t groups = plan.parameters.group_index.groups;
  if (groups == 0 || region.rank < 2 || bits(unpacked(plan.input)) != 8) return std::nullopt;
  const Dimension& columns = region.list[region.rank - 1];
  const Dimension& rows = region.list[region.rank - 2];
  if (columns.y != 1 || columns.size < kFew || rows.size < kFew) return std::nullopt;
  const bool of_columns = columns.group_index != 0 && rows.group_index == 0 && columns.scale == 0 &&
                          (columns.zero_point == 0 || !has_zero_points(plan));
  if (!of_columns || groups > kMostGroups) return std::nullopt;
  const auto codes = codes_of(plan, region);
  if (!codes) return std::nullopt;
  return IndexTiles{{columns.size, kRows}, *codes};
}

namespace {

class Tiles : MatrixJob {
 public:
  Tiles(const Job& job, const IndexTiles& tiles) noexcept : MatrixJob(job), tiles_(tiles) {}

  /// Rows [begin, end), counted over the dimension of rows and the dimensions outside of it.
  void run(int64_t begin, int64_t end) noexcept {
    const size_t row = region_.rank - 2;
    Odometer here(region_.dimensions().first(row + 1), region_.origin, begin);
    while (begin < end) {
      const int64_t n = std::min({here.left(row), end - begin, kRows});
      run_rows(here.offsets(), n);
      here.advance(row, n);
      begin += n;
    }
  }

 private:
  /// All columns of some rows.
  void run_rows(Offsets at, int64_t rows) noexcept {
    load_table(at, rows);
    for (int64_t done = 0, n = 0; done < tiles_.columns; done += n) {
      n = std::min(kColumns, tiles_.columns - done);
      load_groups(at.group_index, n);
      unpack(at.x, rows, n);
      Offsets next = at;
      next.step(column_, n);
      const int64_t more = std::min(kColumns, tiles_.columns - done - n);
      dequantize(rows, n, job_.way.stream ? lines_of(next.x, rows, more) : PackedCodes::Lines{});
      transpose(at.y, rows, n);
      at = next;
    }
  }

  /// Loads the parameters of all groups: the parameter of row r and group g to entry g * rows + r.
  void load_table(const Offsets& at, int64_t rows) noexcept {
    const Plan& plan = job_.plan;
    const GroupIndex& index = plan.parameters.group_index;
    const bool has_zeros = has_zero_points(plan);
    Dimension row = row_;
    row.size = rows;
    Dimension group{.scale = index.scale, .zero_point = index.zero_point};
    const int64_t at_once = kParams / rows;
    static_assert(sizeof results_ >= kParams * sizeof *scale_);
    for (int64_t g = 0; g < index.groups; g += group.size) {
      group.size = std::min(at_once, index.groups - g);
      gather_matrix(plan, job_.buffers, job_.table, group, row, &Dimension::scale,
                    at.scale + g * index.scale, results_, scale_ + g * rows);
      if (!has_zeros) continue;
      gather_matrix(plan, job_.buffers, job_.table, group, row, &Dimension::zero_point,
                    at.zero_point + g * index.zero_point, results_, zero_ + g * rows);
    }
    const int64_t count = index.groups * rows;
    if (!has_zeros) std::fill_n(zero_, count, plan.implicit_zero_point);
    finite_normal_ = job_.table.helpers.all_finite_normal(scale_, static_cast<size_t>(count),
                                                          !has_infinity(plan.input));
  }

  void load_groups(int64_t at, int64_t columns) noexcept {
    const std::byte* index = job_.buffers.group_index.data();
    for (int64_t c = 0; c < columns; ++c, at += column_.group_index) {
      group_[c] = static_cast<int32_t>(load_code(32, index, at));
    }
  }

  /// Unpacks the codes of a tile. With q = lead_ + c, column c is field q % fields_ of byte q /
  /// fields_ of the words, and the codes of column c lie at codes_ + (q % fields_ * bytes_ + q /
  /// fields_) * rows.
  void unpack(int64_t at, int64_t rows, int64_t columns) noexcept {
    lead_ = 0;
    fields_ = 1;
    bytes_ = columns;
    switch (tiles_.codes) {
      case IndexTiles::Codes::rows: return unpack_rows(at, rows, columns);
      case IndexTiles::Codes::columns: return x_.unpack_lines(at, column_.x, columns, rows, codes_);
      case IndexTiles::Codes::bytes_of_words: return unpack_words(at, rows, columns);
    }
  }

  void unpack_rows(int64_t at, int64_t rows, int64_t columns) noexcept {
    x_.unpack_lines(at, row_.x, rows, columns, results_);
    job_.table.transpose[0]({.from = results_,
                             .from_stride = columns,
                             .to = codes_,
                             .to_stride = static_cast<size_t>(rows),
                             .rows = static_cast<size_t>(rows),
                             .columns = static_cast<size_t>(columns)});
  }

  void unpack_words(int64_t at, int64_t rows, int64_t columns) noexcept {
    const Packing& packing = job_.plan.parameters.x_packing;
    const Helpers& helpers = job_.table.helpers;
    lead_ = at % packing.row % kUnit;
    fields_ = 8 / packing.bits;
    const auto words = x_.lines_of_matrix(at, rows, lead_ + columns);
    bytes_ = 4 * words.count;
    uint8_t* bytes = fields_ == 1 ? codes_ : results_;
    for (int64_t k = 0; k < words.count; ++k) {
      helpers.bytes_of_words(words.first + k * words.stride, static_cast<size_t>(rows),
                             bytes + 4 * k * rows);
    }
    if (fields_ == 1) return;
    const int64_t count = bytes_ * rows;
    for (int field = 0; field < fields_; ++field) {
      helpers.fields_of_bytes({results_, static_cast<size_t>(count), field * packing.bits,
                               packing.bits, codes_ + field * count});
    }
  }

  /// What a tile from code `at` on reads.
  PackedCodes::Lines lines_of(int64_t at, int64_t rows, int64_t columns) const noexcept {
    if (columns == 0) return {};
    switch (tiles_.codes) {
      case IndexTiles::Codes::rows: return x_.lines_of_rows(at, columns, rows, row_.x);
      case IndexTiles::Codes::columns: return x_.lines_of_rows(at, rows, columns, column_.x);
      case IndexTiles::Codes::bytes_of_words: break;
    }
    return x_.lines_of_matrix(at, rows, columns);
  }

  /// Dequantizes a tile to results_, with the rows innermost, while it prefetches the lines.
  void dequantize(int64_t rows, int64_t columns, const PackedCodes::Lines& lines) noexcept {
    const int64_t column_bytes = rows * calls_.y_size();
    int64_t done = 0;
    for (int64_t field = 0; field < fields_; ++field) {
      const int64_t first = (field - lead_ % fields_ + fields_) % fields_;
      const uint8_t* codes = codes_ + (field * bytes_ + (lead_ + first) / fields_) * rows;
      int32_t groups[kColumnsAtOnce];
      for (int64_t c = first, n = 0; c < columns; c += n * fields_, codes += n * rows, done += n) {
        n = std::min(kColumnsAtOnce, ceil_div(columns - c, fields_));
        for (int64_t k = 0; k < n; ++k) groups[k] = group_[c + k * fields_];
        lines.part(done, n, columns).fetch();
        calls_.rows_of_groups(unpacked(job_.plan.input), codes, results_ + c * column_bytes,
                              {n, rows, rows, fields_ * column_bytes, rows}, groups,
                              {scale_, zero_, nullptr, finite_normal_});
      }
    }
  }

  /// The results of a tile to element `at` of y. Rows of y are often powers of two apart: a
  /// transposition to y itself would find most lines in one set of the nearest cache.
  void transpose(int64_t at, int64_t rows, int64_t columns) noexcept {
    const int64_t size = calls_.y_size();
    const auto row_bytes = static_cast<size_t>(columns * size);
    job_.table.transpose[static_cast<size_t>(std::countr_zero(static_cast<size_t>(size)))](
        {.from = results_,
         .from_stride = rows * size,
         .to = rows_of_y_,
         .to_stride = row_bytes,
         .rows = static_cast<size_t>(columns),
         .columns = static_cast<size_t>(rows)});
    auto* y = reinterpret_cast<uint8_t*>(job_.buffers.y.data()) + at * size;
    for (int64_t r = 0; r < rows; ++r, y += row_.y * size) {
      const uint8_t* row = rows_of_y_ + static_cast<size_t>(r) * row_bytes;
      if (job_.way.stream) {
        job_.table.helpers.stream(row, y, row_bytes);
      } else {
        std::memcpy(y, row, row_bytes);
      }
    }
  }

  const IndexTiles tiles_;
  int64_t lead_ = 0;    ///< columns of the first unit of words before the tile
  int64_t fields_ = 1;  ///< columns of a byte
  int64_t bytes_ = 0;   ///< of the words of a row, in the tile
  bool finite_normal_ = false;
  int32_t group_[kColumns];  ///< of each column of a tile
  alignas(64) float scale_[kTable];
  alignas(64) int32_t zero_[kTable];
  alignas(64) uint8_t codes_[kCodes + kRows * kUnit + Helpers::kUnpackSlack];
  /// Results, or codes before they are transposed, or parameters.
  alignas(64) uint8_t results_[kCodes * 4];
  alignas(64) uint8_t rows_of_y_[kCodes * 4];
};

/// True if neighbouring columns mostly have the same group, as without act-order.
bool has_long_runs(const Job& job, const IndexTiles& tiles) {
  const Region& region = *job.region;
  const int64_t stride = region.list[region.rank - 1].group_index;
  const std::byte* index = job.buffers.group_index.data();
  int64_t runs = 1;
  for (int64_t c = 1, at = region.origin.group_index; c < tiles.columns; ++c, at += stride) {
    runs += load_code(32, index, at) != load_code(32, index, at + stride) ? 1 : 0;
  }
  return runs * kLongRun <= tiles.columns;
}

}  // namespace

void run_index_tiles(const Job& job, Range elements) noexcept {
  const IndexTiles tiles = *index_tiles_of(job.plan, *job.region);
  if (has_long_runs(job, tiles) && row_tiles_of(job.plan, *job.region)) {
    return run_row_tiles(job, elements);
  }
  Tiles(job, tiles).run(elements.begin / tiles.columns, elements.end / tiles.columns);
}

}  // namespace dequant
