// The results of a matrix plan: of the whole tensor by threads, and of bands of it.
#pragma once

#include <gtest/gtest.h>

#include "plan/strided.h"
#include "support/expect_error.h"
#include "support/slices.h"

namespace dequant::testing {

/// `types` and `dimensions` define the results, which `plan`, made of them, must give: whole by two
/// threads, and in bands of whole rows of `columns` elements or of any number of elements.
inline void expect_bits_in_bands(Random& random, const Plan& types, const Dimensions& dimensions,
                                 const Plan& plan, Tensors& t, int64_t columns) {
  static ThreadPool pool(2);
  const Bytes want = expected(types, dimensions, t);
  Tensors banded = t;
  const Stores stores = random.coin() ? Stores::streaming : Stores::cached;
  ASSERT_TRUE(succeeds(run(plan, t.buffers(), {.executor = pool.executor(), .stores = stores})));
  ASSERT_TRUE(t.y == want) << to_string(plan);
  const int64_t count = element_count(plan);
  const int64_t band = random.coin() ? random.in(1, 90) * columns : random.in(1, count);
  for (int64_t begin = 0; begin < count; begin += band) {
    const Range range{begin, std::min(begin + band, count)};
    ASSERT_TRUE(succeeds(run_slices(plan, range, banded, {.stores = stores})));
  }
  ASSERT_TRUE(banded.y == want) << to_string(plan);
}

}  // namespace dequant::testing
