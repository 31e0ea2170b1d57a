// Matrices whose words run down columns, or whose rows are columns of y: whole, in bands and by
// threads, on every target.
#include "execute/row_tiles.h"

#include <gtest/gtest.h>

#include "support/bands.h"
#include "support/random_plan.h"

namespace dequant::row_tiles_test {
namespace {

using testing::Bytes;
using testing::Dimensions;
using testing::Matrix;
using testing::Random;
using testing::random_cases;
using testing::Tensors;
using testing::way_name;
using enum CodeOrder;

/// The sizes of y: [matrices, rows, columns].
struct Sizes {
  int64_t matrices;
  int64_t rows;
  int64_t columns;
};

Sizes random_sizes(Random& random) {
  Sizes sizes{random.in(0, 3) == 0 ? random.in(2, 3) : 1,
              random.coin() ? random.in(8, 40) : random.in(60, 300),
              random.coin() ? random.in(1, 90) : random.in(100, 700)};
  if (random.coin()) sizes.rows = sizes.rows / 8 * 8;  // whole words of codes
  return sizes;
}

/// Codes of any width in an order with rows. Rows of x are rows of y, or columns of y.
void add_packing(Random& random, Plan& plan, const Sizes& sizes, bool down) {
  Packing& p = plan.parameters.x_packing;
  static constexpr std::array kOrders{words, stream, interleaved, planes};
  p.order = random.of(kOrders);
  p.bits = p.order == interleaved ? 4
           : p.order == planes    ? random.of(std::array{3, 5, 6, 7})
                                  : static_cast<int32_t>(random.in(1, 8));
  p.row = (down ? sizes.columns : sizes.rows) + (random.coin() ? random.in(0, 40) : 0);
  if (p.order == planes) p.row = (p.row + 31) / 32 * 32;
  if (down) p.columns = sizes.matrices * sizes.rows + random.in(0, 3);
}

void add_group_index(Plan& plan, Dimensions& d, int64_t groups) {
  d[2].block = 1;
  d[2].scale = d[2].zero_point = 0;
  d[2].group_index = 1;
  plan.parameters.group_index = {.groups = groups, .scale = d[1].size, .zero_point = d[1].size};
}

/// Scales and zero points of blocks of columns, of rows, or of a group index.
void add_params(Random& random, Plan& plan, Dimensions& d, const Sizes& sizes) {
  const int64_t block = random.coin() ? random.in(1, 40) : 32 * random.in(1, 5);
  const int64_t groups = (sizes.columns + block - 1) / block;
  d[0].scale = groups * sizes.rows;
  d[1].scale = random.coin() ? 1 : groups;
  d[2].scale = d[1].scale == 1 ? sizes.rows : 1;
  d[2].block = block;
  for (Dimension& one : d) one.zero_point = one.scale;
  if (random.in(0, 3) == 0) add_group_index(plan, d, groups);
}

Matrix random_matrix(Random& random) {
  Matrix m;
  const Sizes sizes = random_sizes(random);
  m.plan = testing::random_parameters(random);
  // Plans of other inputs have no layout.
  while (m.plan.input != Element::uint8 && m.plan.input != Element::int8) {
    m.plan = testing::random_parameters(random);
  }
  const bool down = random.in(0, 2) != 0;
  add_packing(random, m.plan, sizes, down);
  const int64_t row = m.plan.parameters.x_packing.row;
  const int64_t y_row = sizes.columns + (random.coin() ? 0 : random.in(1, 70));
  m.dimensions.resize(3);
  m.dimensions[0].size = sizes.matrices;
  m.dimensions[0].x = down ? sizes.rows * row : sizes.columns * row;
  m.dimensions[0].y = sizes.rows * y_row;
  m.dimensions[1] = {.size = sizes.rows, .x = down ? row : 1, .y = y_row};
  m.dimensions[2] = {.size = sizes.columns, .x = down ? 1 : row, .y = 1};
  add_params(random, m.plan, m.dimensions, sizes);
  Parameters& p = m.plan.parameters;
  if (p.result_rounding && !testing::holds_differences(m.plan, *p.result_rounding)) {
    p.result_rounding = {};
  }
  return m;
}

TEST(RowTiles, GiveRandomMatricesTheSpecifiedBitsOnEveryTarget) {
  Random random(1);
  const int cases = random_cases(160);
  std::vector<std::string> ways;
  const auto keep = [](const Matrix&, Tensors&) {};
  testing::expect_bits_of_matrices(
      random, cases, [&] { return random_matrix(random); }, keep, ways);
  // Index tiles hand an index of whole groups to row tiles.
  const auto tiled = std::count_if(ways.begin(), ways.end(), [](const std::string& way) {
    return way.starts_with("row tiles") || way.starts_with("index tiles");
  });
  EXPECT_GT(tiled, cases * 9 / 16);
}

/// Runs of one group, as without act-order, whose parameters are loaded once, and between them
/// entries in any order.
void fill_with_runs(Random& random, const GroupIndex& index, Bytes& entries) {
  const size_t count = entries.size() / sizeof(int32_t);
  for (size_t i = 0; i < count;) {
    const auto group = static_cast<int32_t>(random.in(0, index.groups - 1));
    const auto run = static_cast<size_t>(random.coin() ? random.in(14, 150) : random.in(1, 18));
    for (const size_t end = std::min(i + run, count); i < end; ++i)
      std::memcpy(&entries[i * sizeof group], &group, sizeof group);
  }
}

TEST(RowTiles, GiveRunsOfAGroupIndexTheSpecifiedBitsOnEveryTarget) {
  Random random(2);
  const auto make = [&] {
    Matrix m = random_matrix(random);
    if (m.plan.parameters.group_index.groups == 0) {
      m.dimensions[0].scale = m.dimensions[0].zero_point = 0;
      m.dimensions[1].scale = m.dimensions[1].zero_point = 1;
      add_group_index(m.plan, m.dimensions, random.in(1, 9));
    }
    return m;
  };
  const auto fill = [&](const Matrix& m, Tensors& t) {
    fill_with_runs(random, m.plan.parameters.group_index, t.group_index);
  };
  std::vector<std::string> ways;
  testing::expect_bits_of_matrices(random, random_cases(80), make, fill, ways);
}

/// y of [512, 1024] in groups of 128 columns.
Plan types() {
  Plan plan{.input = Element::uint8, .output = Element::bfloat16};
  plan.parameters.x_packing = {.order = stream, .bits = 4, .row = 1024, .columns = 512};
  return plan;
}

TEST(RowTiles, AreForWordsDownColumnsAndForColumnsOfRows) {
  Plan plan = types();
  EXPECT_TRUE(way_name(plan, {{512, 1024, 1, 0, 1024}, {1024, 1, 512, 0, 1, 128}})
                  .starts_with("row tiles, unpacked, 4 chunks"));
  EXPECT_TRUE(way_name(plan, {{7, 1024, 1, 0, 1024}, {1024, 1, 512, 0, 1, 128}})
                  .starts_with("strided: tiles, unpacked"));
  plan.parameters.x_packing = {.order = interleaved, .bits = 4, .row = 512};
  EXPECT_TRUE(way_name(plan, {{512, 1, 1, 0, 1024}, {1024, 512, 512, 0, 1, 128}})
                  .starts_with("row tiles, unpacked, 2 chunks"));
  plan.parameters.x_packing.row = 1024;
  EXPECT_TRUE(way_name(plan, {{512, 1024, 1, 0, 1024}, {1024, 1, 512, 0, 1, 128}})
                  .starts_with("strided: tiles, unpacked"));
  EXPECT_TRUE(way_name(plan, {{512, 1024, 8, 0, 1024}, {1024, 1, 1, 0, 1, 128}})
                  .starts_with("groups, unpacked"));
}

}  // namespace
}  // namespace dequant::row_tiles_test
