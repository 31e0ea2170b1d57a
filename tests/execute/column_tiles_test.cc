// Matrices of 4-bit floats whose rows of x are columns of y, whole, in bands and by threads, on
// every target.
#include "execute/column_tiles.h"

#include <gtest/gtest.h>

#include "support/bands.h"
#include "support/random_plan.h"

namespace dequant::column_tiles_test {
namespace {

using testing::Dimensions;
using testing::Matrix;
using testing::Random;
using testing::random_cases;
using enum Element;

/// y of [matrices, rows, columns] in blocks along the rows.
Matrix random_matrix(Random& random) {
  static constexpr std::array kOutputs{float32, float16, bfloat16};
  static constexpr std::array kScales{float8e8m0, float32, bfloat16, float8e4m3fn};
  static constexpr std::array<int64_t, 6> kBlocks{32, 32, 16, 64, 8, 24};
  Matrix m;
  m.plan = {.input = float4e2m1, .scale = random.of(kScales), .output = random.of(kOutputs)};
  m.plan.parameters.tensor_scale = static_cast<TensorScale>(random.in(0, 2));
  const int64_t matrices = random.in(0, 2) == 0 ? random.in(2, 3) : 1;
  const int64_t rows = random.coin() ? 32 * random.in(1, 12) : random.in(10, 400);
  const int64_t columns = random.coin() ? random.in(10, 90) : random.in(100, 600);
  const int64_t block = random.in(0, 4) == 0 ? rows : random.of(kBlocks);
  const int64_t blocks = (rows + block - 1) / block;
  const int64_t x_row = rows + (random.coin() ? 0 : random.in(0, 40));
  const int64_t y_row = columns + (random.coin() ? 0 : random.in(1, 70));
  const bool of_column = random.coin();  // the scales of a column are neighbours
  m.dimensions = {
      {.size = matrices, .x = columns * x_row, .scale = blocks * columns, .y = rows * y_row},
      {.size = rows, .x = 1, .scale = of_column ? 1 : columns, .y = y_row, .block = block},
      {.size = columns, .x = x_row, .scale = of_column ? blocks : 1, .y = 1}};
  return m;
}

TEST(ColumnTiles, GiveRandomMatricesTheSpecifiedBitsOnEveryTarget) {
  Random random(1);
  const int cases = random_cases(160);
  const auto make = [&] { return random_matrix(random); };
  EXPECT_GT(testing::expect_bits_of_matrices(random, cases, make, "column tiles"), cases / 2);
}

TEST(ColumnTiles, AreForGroupsAlongTheRows) {
  const auto way = [](const Dimensions& d, Element input = float4e2m1) {
    return testing::way_name({.input = input, .output = bfloat16}, d);
  };
  EXPECT_TRUE(way({{512, 1, 1, 0, 256, 32}, {256, 512, 16, 0, 1}}).starts_with("column tiles"));
  EXPECT_TRUE(way({{512, 1, 0, 0, 256}, {256, 512, 1, 0, 1}}).starts_with("column tiles"));
  EXPECT_TRUE(way({{513, 1, 0, 0, 256}, {256, 514, 1, 0, 1}}).starts_with("column tiles"));
  for (const auto& other : {
           way({{512, 1, 1, 0, 256}, {256, 512, 0, 0, 1}}),             // a scale for each row
           way({{512, 1, 0, 0, 256}, {256, 513, 1, 0, 1}}),             // within a byte
           way({{512, 1, 1, 0, 256, 32}, {256, 512, 16, 0, 1}}, int4),  // integers
           way({{512, 256, 8, 0, 256}, {256, 1, 1, 0, 1, 32}}),
       }) {
    EXPECT_FALSE(other.starts_with("column tiles")) << other;
  }
}

}  // namespace
}  // namespace dequant::column_tiles_test
