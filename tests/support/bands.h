// Random matrices, whole by threads and in bands, on every target.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/explain.h"
#include "dequant/isa.h"
#include "plan/strided.h"
#include "support/expect_error.h"
#include "support/forced_target.h"
#include "support/slices.h"

namespace dequant::testing {

/// Types and parameters of a plan of [matrices, rows, columns], and its dimensions.
struct Matrix {
  Plan plan;
  Dimensions dimensions;

  int64_t columns() const { return dimensions.back().size; }
};

/// `plan`, made of the matrix, gives the results by definition: of the whole tensor by two threads,
/// and of bands of whole rows, or of any number of elements.
inline void expect_bits_in_bands(Random& random, const Matrix& m, const Plan& plan, Tensors& t) {
  static ThreadPool pool(2);
  const Bytes want = expected(m.plan, m.dimensions, t);
  Tensors banded = t;
  const Stores stores = random.coin() ? Stores::streaming : Stores::cached;
  ASSERT_TRUE(succeeds(run(plan, t.buffers(), {.executor = pool.executor(), .stores = stores})));
  ASSERT_TRUE(t.y == want) << to_string(plan);
  const int64_t count = element_count(plan);
  const int64_t band = random.coin() ? random.in(1, 90) * m.columns() : random.in(1, count);
  for (int64_t begin = 0; begin < count; begin += band) {
    const Range range{begin, std::min(begin + band, count)};
    ASSERT_TRUE(succeeds(run_slices(plan, range, banded, {.stores = stores})));
  }
  ASSERT_TRUE(banded.y == want) << to_string(plan);
}

/// Expects the bits of `cases` matrices of make(), on one target after the other. change(matrix,
/// tensors) may change the random tensors. Adds the name of each plan's way to `ways`.
template <class Make, class Change>
void expect_bits_of_matrices(Random& random, int cases, const Make& make, const Change& change,
                             std::vector<std::string>& ways) {
  for (int i = 0; i < cases; ++i) {
    const ForcedTarget forced(targets()[static_cast<size_t>(i) % targets().size()]);
    const Matrix m = make();
    const auto plan = strided_plan(m.plan, m.dimensions);
    ASSERT_TRUE(succeeds(plan));
    Tensors t = random_tensors(random, *plan, 0);
    change(m, t);
    ways.push_back(explain(*plan).value());
    ASSERT_NO_FATAL_FAILURE(expect_bits_in_bands(random, m, *plan, t)) << i;
  }
}

/// The same without changes. Returns how many ways have a name that starts with `name`.
template <class Make>
int64_t expect_bits_of_matrices(Random& random, int cases, const Make& make,
                                std::string_view name) {
  std::vector<std::string> ways;
  const auto keep = [](const Matrix&, Tensors&) {};
  expect_bits_of_matrices(random, cases, make, keep, ways);
  return std::count_if(ways.begin(), ways.end(),
                       [&](const std::string& way) { return way.starts_with(name); });
}

/// The name of the way of a plan.
inline std::string way_name(const Plan& types, const Dimensions& dimensions) {
  const auto made = strided_plan(types, dimensions);
  EXPECT_TRUE(succeeds(made));
  return explain(*made).value();
}

}  // namespace dequant::testing
