// Inputs from TensorFlow's security advisories on Dequantize and similar operators: each is refused
// when the plan is made, or reads no more than the buffers hold.
#include <gtest/gtest.h>

#include <vector>

#include "dialect/tensorflow_node.h"
#include "support/guarded_buffer.h"

namespace dequant::tensorflow_hostile_test {
namespace {

using namespace testing::tensorflow_node;
using testing::GuardedBuffer;
using testing::is_invalid;
using testing::succeeds;
using enum Element;

TEST(TensorflowAdvisories, AreRefusedAtTheDoor) {
  const int64_t k31 = int64_t{1} << 31;
  rejects("CVE-2021-29582: ranges of different sizes",
          {.min = {float32, {3}}, .max = {float32, {}}, .axis = RawAxis{1}},
          "max_range: 1 elements");
  rejects("CVE-2021-29582: the other way",
          {.min = {float32, {}}, .max = {float32, {3}}, .axis = RawAxis{1}},
          "min_range: 1 elements");
  rejects("CVE-2021-37677: axis -10 and empty ranges", with_ranges({.axis = RawAxis{-10}}, {0}),
          "axis: -10");
  rejects("CVE-2022-21726: axis above the rank", with_ranges({.axis = RawAxis{4}}, {3}), "axis: 4");
  rejects("CVE-2022-21727: an axis whose successor overflows 32 bits",
          with_ranges({.axis = RawAxis{INT32_MAX}}, {3}), "axis: 2147483647");
  rejects("the same in 64 bits", with_ranges({.axis = RawAxis{INT64_MAX}}, {3}), "axis: ");
  rejects("CVE-2021-41205: axis -100", with_ranges({.axis = RawAxis{-100}}, {3}), "axis: -100");
  rejects("CVE-2020-15265: axis 10 of rank 1", {.input = {int8, {4}}, .axis = RawAxis{10}},
          "axis: 10");
  rejects("CVE-2023-25668: axis one above the last", with_ranges({.axis = RawAxis{3}}, {4}),
          "axis: 3");
  rejects("CVE-2021-29536: empty ranges where a scalar is needed", with_ranges({}, {0}),
          "min_range: 0 elements");
  rejects("CVE-2022-35966: ranges of rank 1 where a scalar is needed", with_ranges({}, {5}),
          "min_range: 5 elements");
  rejects("CVE-2021-37645: a negative size", {.input = {int8, {-k31}}}, "negative");
  rejects("CVE-2022-36017: ranges of rank 3", with_ranges({}, {1, 2, 1}), "min_range: 2 elements");
}

/// Buffers that end just before a page that nobody may touch.
struct Guarded {
  GuardedBuffer x{24}, min{12}, max{12}, y{96};

  Buffers buffers(size_t x_bytes, size_t min_bytes, size_t max_bytes, size_t y_bytes) const {
    const auto ending = [](const GuardedBuffer& b, size_t size) {
      return std::span(reinterpret_cast<std::byte*>(b.before_end(size)), size);
    };
    return {.x = ending(x, x_bytes),
            .scale = {},
            .zero_point = {},
            .y = ending(y, y_bytes),
            .min_range = ending(min, min_bytes),
            .max_range = ending(max, max_bytes)};
  }
};

TEST(TensorflowAdvisories, BuffersOfTheExactSizeAreReadToTheirEndAndNotFurther) {
  const Guarded memory;
  const auto sliced = plan_of(with_ranges({.axis = RawAxis{1}}, {3})).value();
  EXPECT_TRUE(succeeds(run(sliced, memory.buffers(24, 12, 12, 96))));
  for (const Mode mode : {Mode::min_combined, Mode::min_first, Mode::scaled}) {
    const auto whole = plan_of({.mode = mode}).value();
    EXPECT_TRUE(succeeds(run(whole, memory.buffers(24, 4, 4, 96))));
  }
}

TEST(TensorflowAdvisories, BuffersTooShortAreRefusedBeforeAnythingIsRead) {
  const Guarded memory;
  const auto plan = plan_of(with_ranges({.axis = RawAxis{1}}, {3})).value();
  memory.y.fill(0xA5);
  for (const size_t size : std::vector<size_t>{0, 1, 4, 8, 11}) {
    EXPECT_TRUE(is_invalid(run(plan, memory.buffers(24, size, 12, 96)), "min_range: "));
    EXPECT_TRUE(is_invalid(run(plan, memory.buffers(24, 12, size, 96)), "max_range: "));
  }
  EXPECT_TRUE(is_invalid(run(plan, memory.buffers(23, 12, 12, 96)), "x: 23 bytes"));
  EXPECT_TRUE(is_invalid(run(plan, memory.buffers(24, 12, 12, 95)), "y: 95 bytes"));
  EXPECT_TRUE(is_invalid(run(plan, {}), "null"));
  for (size_t i = 0; i < memory.y.capacity(); ++i) {
    ASSERT_EQ(memory.y.begin()[i], 0xA5) << "byte " << i << " was written";
  }
}

TEST(TensorflowAdvisories, NoSlicesNeedNoMemory) {
  const auto plan =
      plan_of(with_ranges({.input = {int8, {2, 0, 4}}, .axis = RawAxis{1}}, {0})).value();
  EXPECT_TRUE(succeeds(run(plan, {})));
}

}  // namespace
}  // namespace dequant::tensorflow_hostile_test
