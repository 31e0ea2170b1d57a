// Matrices with a group index over the columns, whole, in bands and by threads, on every target.
#include "execute/index_tiles.h"

#include <gtest/gtest.h>

#include "support/bands.h"
#include "support/random_plan.h"

namespace dequant::index_tiles_test {
namespace {

using testing::Dimensions;
using testing::Matrix;
using testing::Random;
using testing::random_cases;
using testing::way_name;
using enum CodeOrder;

/// The sizes of y: [matrices, rows, columns].
struct Sizes {
  int64_t matrices;
  int64_t rows;
  int64_t columns;
};

Sizes random_sizes(Random& random) {
  return {random.in(0, 3) == 0 ? 2 : 1, random.coin() ? random.in(8, 40) : random.in(60, 200),
          random.coin() ? random.in(8, 90) : random.in(100, 500)};
}

/// Rows of x are rows of y, or columns of y.
void add_elements(Random& random, Dimensions& d, const Sizes& sizes) {
  const bool transposed = random.coin();
  const int64_t row = (transposed ? sizes.rows : sizes.columns) + (random.coin() ? 3 : 0);
  d[0].x = row * (transposed ? sizes.columns : sizes.rows);
  d[1].x = transposed ? 1 : row;
  d[2].x = transposed ? row : 1;
}

/// The same of words, which may also run down columns.
void add_words(Random& random, Plan& plan, Dimensions& d, const Sizes& sizes) {
  Packing& p = plan.parameters.x_packing;
  const bool down = random.coin();
  static constexpr std::array kWidths{1, 2, 3, 4, 4, 8};
  p.order = random.in(0, 3) == 0 ? words : stream;
  p.bits = random.of(kWidths);
  if (!down) {
    add_elements(random, d, sizes);
    p.row = std::max(d[1].x, d[2].x);
    return;
  }
  p.row = sizes.columns + (random.coin() ? random.in(0, 40) : 0);
  p.columns = sizes.matrices * sizes.rows + random.in(0, 3);
  d[0].x = sizes.rows * p.row;
  d[1].x = p.row;
  d[2].x = 1;
}

/// Lays out one parameter: neighbours in memory belong to one row, or to one group, and may lie two
/// apart. Returns the distance from a group to the next.
int64_t add_strides(Random& random, Dimensions& d, const Sizes& sizes, int64_t groups,
                    int64_t Dimension::*stride) {
  const int64_t apart = random.in(0, 3) == 0 ? 2 : 1;
  const bool of_row = random.coin();
  d[1].*stride = of_row ? groups * apart : apart;
  d[0].*stride = random.coin() ? 0 : groups * sizes.rows * apart;
  return of_row ? apart : sizes.rows * apart;
}

Matrix random_matrix(Random& random) {
  Matrix m;
  const Sizes sizes = random_sizes(random);
  m.plan = testing::random_parameters(random);
  Dimensions& d = m.dimensions;
  const int64_t y_row = sizes.columns + (random.coin() ? 0 : random.in(1, 70));
  d = {{.size = sizes.matrices, .y = sizes.rows * y_row},
       {.size = sizes.rows, .y = y_row},
       {.size = sizes.columns, .y = 1, .group_index = 1}};
  const bool packable = m.plan.input == Element::uint8 || m.plan.input == Element::int8;
  packable ? add_words(random, m.plan, d, sizes) : add_elements(random, d, sizes);
  Parameters& p = m.plan.parameters;
  const int64_t groups = random.in(0, 7) == 0 ? random.in(200, 600) : random.in(1, 30);
  p.group_index.groups = groups;
  p.group_index.scale = add_strides(random, d, sizes, groups, &Dimension::scale);
  p.group_index.zero_point = add_strides(random, d, sizes, groups, &Dimension::zero_point);
  if (p.result_rounding && !testing::holds_differences(m.plan, *p.result_rounding)) {
    p.result_rounding = {};
  }
  return m;
}

TEST(IndexTiles, GiveRandomMatricesTheSpecifiedBitsOnEveryTarget) {
  Random random(1);
  const int cases = random_cases(240);
  const auto make = [&] { return random_matrix(random); };
  EXPECT_GT(testing::expect_bits_of_matrices(random, cases, make, "index tiles"), cases / 2);
}

/// y of [512, 1024], a group index for its columns.
Plan types(int64_t groups) {
  Plan plan{.input = Element::uint8, .output = Element::bfloat16};
  plan.parameters.x_packing = {.order = stream, .bits = 4, .row = 1024, .columns = 512};
  plan.parameters.group_index = {.groups = groups, .scale = 512};
  return plan;
}

TEST(IndexTiles, AreForAGroupIndexOfColumnsWithoutTooManyGroups) {
  const Dimensions columns{{512, 1024, 1, 0, 1024}, {1024, 1, 0, 0, 1, 1, 1}};
  EXPECT_TRUE(way_name(types(8), columns).starts_with("index tiles, unpacked, 4 chunks"));
  EXPECT_TRUE(way_name(types(448), columns).starts_with("index tiles"));
  EXPECT_TRUE(way_name(types(449), columns).starts_with("row tiles"));
  EXPECT_TRUE(way_name(types(8), {{512, 1024, 0, 0, 1024, 1, 1}, {1024, 1, 1, 0, 1}})
                  .starts_with("row tiles"));
  Plan rows = types(8);
  rows.parameters.x_packing.columns = 0;
  EXPECT_TRUE(way_name(rows, columns).starts_with("index tiles"));
  rows.parameters.x_packing = {};
  EXPECT_TRUE(way_name(rows, columns).starts_with("index tiles"));
  rows.input = Element::int16;
  EXPECT_TRUE(way_name(rows, columns).starts_with("strided: rows in place"));
}

}  // namespace
}  // namespace dequant::index_tiles_test
