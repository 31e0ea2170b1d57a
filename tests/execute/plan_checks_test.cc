// Plans are plain data, so run() meets ones that no dialect made.
#include <gtest/gtest.h>

#include "support/example.h"
#include "support/expect_error.h"

namespace dequant {
namespace {

using testing::Bytes;
using testing::is_invalid;
using enum Element;

void expect_refused(const Plan& plan, std::string_view word) {
  const Bytes input(4096);
  Bytes y(4096, testing::kUntouched);
  const auto zero = plan.has_zero_point ? std::span(input) : std::span<const std::byte>{};
  EXPECT_TRUE(is_invalid(run(plan, {input, input, zero, y}), word));
  EXPECT_TRUE(is_invalid(run_range(plan, {0, 8}, {input, input, zero, y}), word));
  EXPECT_TRUE(y == Bytes(4096, testing::kUntouched)) << "something was written";
}

TEST(PlanChecks, RefuseElementsThatHaveNotTheirRole) {
  for (const Element e : elements()) {
    if (!is_input(e)) expect_refused({.input = e, .inner = 16}, "plan.input");
    if (!is_output(e)) expect_refused({.output = e, .inner = 16}, "plan.output");
    if (!is_output(e) && e != float8e8m0) expect_refused({.scale = e, .inner = 16}, "plan.scale");
  }
}

TEST(PlanChecks, RefuseNumbersThatAreNoElement) {
  for (const int number : {19, 20, 100, 255}) {
    const auto e = static_cast<Element>(number);
    expect_refused({.input = e, .inner = 16}, "plan.input");
    expect_refused({.scale = e, .inner = 16}, "plan.scale");
    expect_refused({.output = e, .inner = 16}, "plan.output");
  }
}

TEST(PlanChecks, RefuseNumbersThatAreNoRuleOrGranularity) {
  expect_refused({.rule = static_cast<Rule>(1), .inner = 16}, "plan.rule");
  expect_refused({.rule = static_cast<Rule>(255), .inner = 16}, "plan.rule");
  expect_refused({.granularity = static_cast<Granularity>(3), .inner = 16}, "plan.granularity");
  expect_refused({.granularity = static_cast<Granularity>(255), .inner = 16}, "plan.granularity");
}

TEST(PlanChecks, RefuseSizesThatAreNegativeOrOverflow) {
  const int64_t k32 = int64_t{1} << 32;
  for (const Granularity g :
       {Granularity::per_tensor, Granularity::per_axis, Granularity::blocked}) {
    expect_refused({.granularity = g, .outer = -1, .axis = 2, .inner = 2}, "negative");
    expect_refused({.granularity = g, .outer = 2, .axis = -1, .inner = 2}, "negative");
    expect_refused({.granularity = g, .outer = 2, .axis = 2, .inner = INT64_MIN}, "negative");
    expect_refused({.granularity = g, .outer = k32, .axis = k32, .inner = 1}, "2^63");
    expect_refused({.granularity = g, .outer = k32, .axis = 0, .inner = k32}, "2^63");
    expect_refused({.granularity = g, .outer = 1, .axis = 1, .inner = INT64_MAX}, "2^63");
  }
}

TEST(PlanChecks, RefuseBlocksBelowOne) {
  for (const int64_t block : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    expect_refused({.granularity = Granularity::blocked, .axis = 16, .block = block}, "plan.block");
  }
}

TEST(PlanChecks, AllowABlockLargerThanTheAxis) {
  const Bytes x(16, std::byte{3});
  const Bytes scale = testing::pack(float32, {testing::bits_of(2.0F)});
  Bytes y(64);
  const Plan plan{.granularity = Granularity::blocked, .axis = 16, .block = INT64_MAX};
  ASSERT_TRUE(testing::succeeds(run(plan, {x, scale, {}, y})));
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(testing::float_of(testing::code_at(float32, y, i)), 6.0F);
  }
}

}  // namespace
}  // namespace dequant
