// Codes of four bits at most in long groups, whose results are looked up in tables: whole, in bands
// and by threads, on every target.
#include "execute/result_tables.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/bands.h"
#include "support/random_plan.h"

namespace dequant::result_tables_test {
namespace {

using testing::Matrix;
using testing::Random;
using testing::random_cases;
using enum Element;

bool has_few_codes(const Plan& plan) { return code_bits(plan) <= 4; }

/// Types and parameters.
Plan types_of(Random& random) {
  static constexpr std::array kInputs{uint8, int8, uint4, int4, uint2, float4e2m1};
  for (;;) {
    Plan plan = testing::random_parameters(random);
    if (std::find(kInputs.begin(), kInputs.end(), plan.input) == kInputs.end()) continue;
    return plan;
  }
}

/// y of [rows, columns] in groups along the columns.
Matrix random_matrix(Random& random) {
  static constexpr std::array<int64_t, 8> kGroups{32, 32, 64, 64, 128, 96, 192, 4160};
  for (;;) {
    Matrix m{types_of(random), {}};
    const int64_t group = random.of(kGroups);
    const int64_t groups = random.in(1, group > 1000 ? 2 : 9);
    const int64_t columns = group * groups - (random.coin() ? 0 : random.in(1, group - 1));
    const int64_t rows = random.in(1, 40);
    const int64_t y_row = columns + (random.coin() ? 0 : random.in(1, 70));
    m.dimensions = {{.size = rows, .x = columns, .scale = groups, .zero_point = groups, .y = y_row},
                    {.size = columns, .x = 1, .scale = 1, .zero_point = 1, .y = 1, .block = group}};
    testing::add_packings(random, m.plan, m.dimensions);
    if (has_few_codes(m.plan)) return m;
  }
}

TEST(ResultTables, GiveRandomMatricesTheSpecifiedBitsOnEveryTarget) {
  Random random(1);
  const int cases = random_cases(240);
  const auto make = [&] { return random_matrix(random); };
  const auto keep = [](const Matrix&, testing::Tensors&) {};
  std::vector<std::string> ways;
  testing::expect_bits_of_matrices(random, cases, make, keep, ways);
  const auto staged = std::count_if(ways.begin(), ways.end(), [](const std::string& way) {
    return way.find("in stages") != std::string::npos;
  });
  EXPECT_GT(staged, cases / 4);
}

}  // namespace
}  // namespace dequant::result_tables_test
