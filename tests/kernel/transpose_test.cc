// Transposed codes on every target against the definition, on guarded memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "dequant/isa.h"
#include "kernel/targets.h"
#include "support/guarded_buffer.h"
#include "support/print.h"
#include "support/random.h"

namespace dequant::transpose_test {
namespace {

using testing::GuardedBuffer;
using testing::Random;

constexpr size_t kMost = 150;

class Transposes : public ::testing::Test {
 protected:
  /// One transpose of random codes between memory that ends with the last code.
  void check(TransposeFn transpose, size_t size, size_t rows, size_t columns, bool upwards) {
    const size_t from_stride = (columns + static_cast<size_t>(random_.in(0, 9))) * size;
    const size_t to_stride = (rows + static_cast<size_t>(random_.in(0, 9))) * size;
    const size_t from_bytes = (rows - 1) * from_stride + columns * size;
    const size_t to_bytes = (columns - 1) * to_stride + rows * size;
    uint8_t* from = from_.before_end(from_bytes);
    for (size_t i = 0; i < from_bytes; ++i) from[i] = static_cast<uint8_t>(random_.bits());
    uint8_t* to = to_.before_end(to_bytes);
    std::fill_n(to, to_bytes, uint8_t{0xA5});
    const auto step = static_cast<ptrdiff_t>(from_stride);
    const uint8_t* first = upwards ? from + (rows - 1) * from_stride : from;
    transpose({first, upwards ? -step : step, to, to_stride, rows, columns});
    for (size_t i = 0; i < to_bytes; ++i) {
      const size_t column = i / to_stride;
      const size_t row = i % to_stride / size;
      const size_t in = upwards ? rows - 1 - row : row;
      const uint8_t want =
          row >= rows ? 0xA5 : from[in * from_stride + column * size + i % to_stride % size];
      ASSERT_EQ(to[i], want) << "row " << row << ", column " << column << " of " << rows << " x "
                             << columns << " codes of " << size << " bytes";
    }
  }

  Random random_{9};
  GuardedBuffer from_{(kMost + 9) * kMost * 4};
  GuardedBuffer to_{(kMost + 9) * kMost * 4};
};

TEST_F(Transposes, PutEveryCodeInItsPlaceAndTouchNothingElse) {
  for (const std::string_view target : targets()) {
    SCOPED_TRACE(std::string(target));
    for (size_t log2 = 0; log2 < 3; ++log2) {
      const TransposeFn transpose = table_of(target)->transpose[log2];
      for (const size_t rows : {1u, 3u, 4u, 7u, 8u, 15u, 16u, 17u, 33u, 64u, 100u}) {
        for (const size_t columns : {1u, 4u, 9u, 15u, 16u, 19u, 31u, 64u, 65u, 97u, 150u}) {
          ASSERT_NO_FATAL_FAILURE(
              check(transpose, size_t{1} << log2, rows, columns, random_.coin()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace dequant::transpose_test
