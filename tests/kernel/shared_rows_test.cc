// Rows that share a scale and a zero point for each element: all targets that have a way of their
// own for them give what the reference gives row by row, and touch nothing between the rows.
#include <gtest/gtest.h>

#include "kernel/kernel_check.h"

namespace dequant::shared_rows_test {
namespace {

using testing::GuardedBuffer;
using testing::Random;
using enum Element;

struct Rows {
  size_t count, rows;
  size_t x_gap, y_gap;  ///< bytes between rows
  bool stream, finite_normal, of_y;
};

class SharedRows : public ::testing::Test {
 protected:
  static constexpr size_t kMost = 5000;
  static constexpr uint8_t kUntouched = 0xA5;

  /// True if all bytes in and around y agree.
  bool agree(const Table& table, Element x, Element y, const Rows& rows) {
    const size_t x_bytes = (rows.count * static_cast<size_t>(bits(x)) + 7) / 8;
    const size_t y_bytes = rows.count * 2;
    const size_t x_row = x_bytes + rows.x_gap;
    const size_t y_row = y_bytes + rows.y_gap;
    uint8_t* codes = x_.before_end((rows.rows - 1) * x_row + x_bytes);
    for (size_t i = 0; i < (rows.rows - 1) * x_row + x_bytes; ++i) {
      codes[i] = static_cast<uint8_t>(random_.bits());
    }
    auto* scale = reinterpret_cast<float*>(scale_.before_end(rows.count * 4));
    auto* zero = reinterpret_cast<int32_t*>(zero_.before_end(rows.count * 4));
    for (size_t i = 0; i < rows.count; ++i) {
      do {
        scale[i] = testing::float_of(testing::random_scale(random_));
        if (rows.of_y) scale[i] = testing::nearest(y, scale[i]);
      } while (rows.finite_normal && !is_finite_normal(scale[i], !has_infinity(x)));
      zero[i] = testing::random_zero(random_, x);
    }
    y_.fill(kUntouched);
    want_.fill(kUntouched);
    KernelArgs args{codes, y_.begin(), rows.count, 1, scale, zero, lut_of(x), rows.stream};
    args.finite_normal = testing::all_finite_normal(x, scale, rows.count);
    args.scales_of_y = testing::all_of_y(y, scale, rows.count);
    args.rows = rows.rows;
    args.x_row = x_row;
    args.y_row = y_row;
    table.shared_at(x, y)(args);
    flush_streams();
    for (size_t r = 0; r < rows.rows; ++r) {
      args.x = codes + r * x_row;
      args.y = want_.begin() + r * y_row;
      table_of("reference")->at(x, y, ScaleLayout::per_element)(args);
    }
    return std::memcmp(y_.begin(), want_.begin(), y_.capacity()) == 0;
  }

  void expect_every_length_agrees(std::string_view target, Element x, Element y) {
    for (size_t count = 1; count <= kMost; count += count < 200 ? 1 : 479) {
      for (const int how : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const Rows rows{.count = count,
                        .rows = count % 5 + 1,
                        .x_gap = count % 3,
                        .y_gap = count % 2 == 0 ? 64 - count * 2 % 64 : 6,
                        .stream = (how & 1) != 0,
                        .finite_normal = (how & 2) != 0,
                        .of_y = (how & 4) != 0};
        ASSERT_TRUE(agree(*table_of(target), x, y, rows))
            << target << ", " << name(x) << " to " << name(y) << ", " << rows.rows << " rows of "
            << count << (rows.stream ? ", streamed" : "")
            << (rows.finite_normal ? "" : ", any scales") << (rows.of_y ? " of y" : "");
      }
    }
  }

  Random random_{5};
  GuardedBuffer x_{kMost * 16};
  GuardedBuffer y_{kMost * 32};
  GuardedBuffer want_{kMost * 32};
  GuardedBuffer scale_{kMost * 4};
  GuardedBuffer zero_{kMost * 4};
};

TEST_F(SharedRows, MatchReferenceBitwiseAtEveryLength) {
  for (const std::string_view target : targets()) {
    for (const Element x : elements().first(kInputs)) {
      for (const Element y : {float16, bfloat16}) {
        if (table_of(target)->shared_at(x, y) != nullptr) expect_every_length_agrees(target, x, y);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(SharedRows, AreThereWhereTheyPay) {
  for (const std::string_view target : targets()) {
    for (const Element x : {uint2, int2}) {
      for (const Element y : {float16, bfloat16}) {
        EXPECT_EQ(table_of(target)->shared_at(x, y) == nullptr, target == "reference") << target;
      }
    }
  }
}

}  // namespace
}  // namespace dequant::shared_rows_test
