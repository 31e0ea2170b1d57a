// Plans are plain data: run() must refuse the wrong ones that no dialect made.
#include <gtest/gtest.h>

#include "support/example.h"
#include "support/expect_error.h"

namespace dequant::plan_checks_test {
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
    const bool scale = is_output(e) || e == float8e8m0 || e == float8e4m3fn;
    if (!scale) expect_refused({.scale = e, .inner = 16}, "plan.scale");
  }
}

TEST(PlanChecks, RefuseNumbersThatAreNoElement) {
  const auto known = static_cast<int>(elements().size());
  for (const int number : {known, known + 1, 100, 255}) {
    const auto e = static_cast<Element>(number);
    expect_refused({.input = e, .inner = 16}, "plan.input");
    expect_refused({.scale = e, .inner = 16}, "plan.scale");
    expect_refused({.output = e, .inner = 16}, "plan.output");
  }
}

TEST(PlanChecks, RefuseNumbersThatAreNoRuleOrGranularity) {
  expect_refused({.rule = static_cast<Rule>(8), .inner = 16}, "plan.rule");
  expect_refused({.rule = static_cast<Rule>(255), .inner = 16}, "plan.rule");
  expect_refused({.granularity = static_cast<Granularity>(4), .inner = 16}, "plan.granularity");
  expect_refused({.granularity = static_cast<Granularity>(255), .inner = 16}, "plan.granularity");
}

TEST(PlanChecks, RefuseRulesOfRangesWhereTheyMeanNothing) {
  const Rule rules[] = {Rule::min_combined,
                        Rule::min_first,
                        Rule::scaled,
                        Rule::scaled_narrow_range,
                        Rule::documented_min_first,
                        Rule::documented_min_combined,
                        Rule::documented_scaled};
  for (const Rule rule : rules) {
    for (const Element x : {uint32, int4, uint2, float8e4m3fn, float4e2m1}) {
      expect_refused({.input = x, .rule = rule, .inner = 16}, "takes no x of");
    }
    expect_refused({.scale = float16, .rule = rule, .inner = 16}, "float32 only");
    expect_refused({.has_zero_point = true, .rule = rule, .inner = 16}, "no zero point");
    expect_refused({.implicit_zero_point = 1, .rule = rule, .inner = 16}, "no zero point");
    expect_refused({.rule = rule, .granularity = Granularity::blocked, .inner = 16}, "per axis");
    expect_refused({.rule = rule, .granularity = Granularity::strided, .dimensions = {{}}},
                   "per axis");
  }
  const Rule documented = Rule::documented_min_first;
  expect_refused({.rule = documented, .granularity = Granularity::per_axis, .inner = 16},
                 "is per tensor");
  expect_refused({.output = bfloat16, .rule = documented, .inner = 16}, "float32 only");
}

TEST(PlanChecks, RefuseAnImplicitZeroPointThatXCannotHave) {
  expect_refused({.input = uint8, .implicit_zero_point = -1, .inner = 16}, "implicit_zero_point");
  expect_refused({.input = uint8, .implicit_zero_point = 256, .inner = 16}, "implicit_zero_point");
  expect_refused({.input = int4, .implicit_zero_point = 8, .inner = 16}, "implicit_zero_point");
  expect_refused({.input = int4, .implicit_zero_point = -9, .inner = 16}, "implicit_zero_point");
  expect_refused({.input = float8e5m2, .implicit_zero_point = 1, .inner = 16},
                 "implicit_zero_point");
  expect_refused({.has_zero_point = true, .implicit_zero_point = 1, .inner = 16}, "is given");
}

TEST(PlanChecks, RefuseDimensionsThatAreMissingOrInTheWay) {
  expect_refused({.granularity = Granularity::strided}, "at least one");
  expect_refused({.inner = 16, .dimensions = {{}}}, "only strided plans");
  const Plan reversed{.granularity = Granularity::strided, .dimensions = {{8, 1, 0, 0, -1}}};
  expect_refused(reversed, "y: a stride of -1");
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
}  // namespace dequant::plan_checks_test
