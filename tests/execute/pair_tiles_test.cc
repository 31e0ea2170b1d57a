// Matrices whose bytes have codes of two rows, whole, in bands and by threads, on every target.
#include "execute/pair_tiles.h"

#include <gtest/gtest.h>

#include "support/bands.h"
#include "support/random_plan.h"

namespace dequant::pair_tiles_test {
namespace {

using testing::Dimensions;
using testing::Matrix;
using testing::Random;
using testing::random_cases;
using enum Element;

/// y of [pairs, 2, columns] in groups along the columns.
Matrix random_matrix(Random& random) {
  static constexpr std::array kInputs{int4, uint4, float4e2m1};
  static constexpr std::array kOutputs{float32, float16, bfloat16};
  static constexpr std::array kScales{float32, bfloat16, float16, float8e4m3fn};
  static constexpr std::array<int64_t, 6> kGroups{32, 128, 16, 8, 24, 4608};
  Matrix m;
  m.plan = {
      .input = random.of(kInputs), .scale = random.of(kScales), .output = random.of(kOutputs)};
  m.plan.implicit_zero_point = m.plan.input == uint4 ? 8 : 0;
  m.plan.parameters.tensor_scale = static_cast<TensorScale>(random.in(0, 2));
  const int64_t pairs = random.in(1, 40);
  const int64_t group = random.of(kGroups);
  const int64_t groups = random.in(1, group > 1000 ? 2 : 40);
  const int64_t columns = group * groups;
  const int64_t padding = random.coin() ? 0 : 2 * random.in(1, 9);
  const int64_t y_row = columns + (random.coin() ? 0 : random.in(1, 70));
  const bool in_rows = random.coin();  // the scales of a row are neighbours
  const int64_t row = in_rows ? groups : 1;
  m.dimensions = {
      {.size = pairs, .x = 2 * columns + padding, .scale = 2 * row, .y = 2 * y_row},
      {.size = 2, .x = 1, .scale = row, .y = y_row},
      {.size = columns, .x = 2, .scale = in_rows ? 1 : 2 * pairs, .y = 1, .block = group}};
  return m;
}

TEST(PairTiles, GiveRandomMatricesTheSpecifiedBitsOnEveryTarget) {
  Random random(1);
  const int cases = random_cases(160);
  const auto make = [&] { return random_matrix(random); };
  EXPECT_GT(testing::expect_bits_of_matrices(random, cases, make, "pair tiles"), cases / 2);
}

TEST(PairTiles, AreForCodesOfTwoRowsInAByte) {
  const auto way = [](const Dimensions& d, Element input = int4) {
    return testing::way_name({.input = input, .output = bfloat16}, d);
  };
  EXPECT_TRUE(
      way({{64, 512, 2, 0, 512}, {2, 1, 1, 0, 256}, {256, 2, 0, 0, 1}}).starts_with("pair tiles"));
  EXPECT_TRUE(way({{2, 1, 8, 0, 256}, {256, 2, 1, 0, 1, 32}}).starts_with("pair tiles"));
  for (const auto& other : {
           way({{64, 512, 2, 0, 512}, {2, 1, 1, 0, 256}, {256, 2, 0, 0, 1}}, int8),
           way({{64, 513, 2, 0, 512}, {2, 1, 1, 0, 256}, {256, 2, 0, 0, 1}}),  // within a byte
           way({{64, 512, 0, 0, 512}, {2, 1, 0, 0, 256}, {256, 2, 1, 0, 1}}),  // a scale a column
           way({{64, 512, 64, 0, 512}, {2, 1, 32, 0, 256}, {256, 2, 1, 0, 1, 8}}),
           way({{64, 1024, 4, 0, 1024}, {4, 1, 1, 0, 256}, {256, 4, 0, 0, 1}}),  // four rows
       }) {
    EXPECT_FALSE(other.starts_with("pair tiles")) << other;
  }
}

}  // namespace
}  // namespace dequant::pair_tiles_test
