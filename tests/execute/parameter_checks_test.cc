// What run() asks of plans with the parameters of checkpoints, and of their buffers.
#include <gtest/gtest.h>

#include "dequant/plan.h"
#include "support/expect_error.h"
#include "support/strided.h"

namespace dequant::parameter_checks_test {
namespace {

using testing::Bytes;
using testing::is_invalid;
using testing::Random;
using testing::random_tensors;
using testing::succeeds;
using testing::Tensors;
using enum Element;

/// uint4 with all that a plan may have.
Plan full_plan() {
  Plan plan{.input = uint4, .scale = float16, .has_zero_point = true};
  plan.granularity = Granularity::strided;
  plan.dimensions = {{.size = 4, .x = 8, .scale = 1, .zero_point = 1, .y = 8},
                     {.size = 8, .x = 1, .y = 1, .group_index = 1}};
  plan.parameters = {.tensor_scale = TensorScale::multiply,
                     .zero_point_offset = 1,
                     .zero_point_overflow = ZeroPointOverflow::wrap,
                     .group_index = {.groups = 2, .scale = 4, .zero_point = 8}};
  return plan;
}

TEST(ParameterChecks, AreToldInOneLine) {
  EXPECT_EQ(to_string(full_plan()),
            "uint4[4, 8] strided, float16 scale times tensor scale, zero point +1 within its bits, "
            "index of 2 groups -> float32");
  Plan plan{.scale = float8e8m0, .has_zero_point = true, .inner = 3};
  plan.parameters = {.tensor_scale = TensorScale::divide,
                     .infinite_e8m0 = true,
                     .reciprocal_scale = true,
                     .zero_point = uint4,
                     .zero_point_offset = -1,
                     .zero_point_overflow = ZeroPointOverflow::carry};
  EXPECT_EQ(to_string(plan),
            "uint8[1, 1, 3] per tensor, float8e8m0 scale with infinity inverted by tensor scale, "
            "uint4 zero point -1 to each word -> float32");
}

TEST(ParameterChecks, NeedTheirBuffersAndAnIndexOfGroupsThatThereAre) {
  const Plan plan = full_plan();
  ASSERT_EQ(
      extents(plan),
      (Extents{
          .x = 32, .scale = 8, .zero_point = 12, .y = 32, .tensor_scale = 1, .group_index = 8}));
  Random random(8);
  Tensors t = random_tensors(random, plan, 0);
  ASSERT_TRUE(succeeds(run(plan, t.buffers())));
  std::fill(t.y.begin(), t.y.end(), testing::kUntouched);
  const Bytes untouched = t.y;
  const auto refused = [&](const Buffers& b, std::string_view word) {
    EXPECT_TRUE(is_invalid(run(plan, b), word));
    EXPECT_TRUE(t.y == untouched);
  };
  Buffers b = t.buffers();
  b.tensor_scale = b.tensor_scale.first(3);
  refused(b, "tensor_scale: 3 bytes given, 4 needed");
  b = t.buffers();
  b.tensor_scale = {};
  refused(b, "tensor_scale: null");
  b = t.buffers();
  b.group_index = b.group_index.first(31);
  refused(b, "group_index: 31 bytes given, 32 needed");
  b = t.buffers();
  b.group_index = std::span(t.y).first(32);
  refused(b, "overlaps group_index");
  b = t.buffers();
  b.scale = b.scale.first(15);
  refused(b, "scale: 15 bytes");
  b = t.buffers();
  b.zero_point = b.zero_point.first(5);
  refused(b, "zero_point: 5 bytes given, 6 needed");
  for (const uint32_t group : {2U, 0xFFFFFFFFU, 0x7FFFFFFFU, 0x80000000U}) {
    std::vector<uint32_t> groups(8, 1);
    groups[7] = group;
    const Bytes index = testing::pack(int32, groups);
    b = t.buffers();
    b.group_index = index;
    refused(b, "group_index: element 7 is " + std::to_string(static_cast<int32_t>(group)));
    EXPECT_TRUE(is_invalid(run_range(plan, {0, 31}, b), "group_index: element 7"));
  }
  Plan without = plan;
  without.parameters = {};
  without.dimensions[1].group_index = 0;
  b = t.buffers();
  EXPECT_TRUE(is_invalid(run(without, b), "tensor_scale: 4 bytes given for a plan without one"));
}

void expect_refused(Plan plan, std::string_view word) {
  plan.has_zero_point = plan.has_zero_point || plan.parameters.zero_point.has_value();
  const Bytes input(4096);
  Bytes y(4096, testing::kUntouched);
  EXPECT_TRUE(is_invalid(run(plan, {input, input, input, y}), word));
  EXPECT_TRUE(y == Bytes(4096, testing::kUntouched));
}

TEST(ParameterChecks, OfPlansWhereTheyMeanNothingAreRefused) {
  const auto with = [](Parameters p, Element x = uint4) {
    Plan plan{.input = x, .inner = 16};
    plan.parameters = p;
    return plan;
  };
  using enum ZeroPointOverflow;
  expect_refused(with({.tensor_scale = static_cast<TensorScale>(3)}), "parameters.tensor_scale");
  expect_refused(with({.infinite_e8m0 = true}), "parameters.infinite_e8m0");
  expect_refused(with({.zero_point_offset = 1}), "without zero points");
  expect_refused(with({.zero_point_overflow = wrap}), "without zero points");
  expect_refused(with({.zero_point_overflow = static_cast<ZeroPointOverflow>(3)}),
                 "parameters.zero_point_overflow");
  expect_refused(with({.zero_point = static_cast<Element>(200)}), "parameters.zero_point: element");
  expect_refused(with({.zero_point = float8e4m3fn}), "uint4 has no zero points of float8e4m3fn");
  expect_refused(with({.zero_point = int32}), "uint4 has no zero points of int32");
  expect_refused(with({.zero_point = int16}), "uint4 has no zero points of int16");
  expect_refused(with({.zero_point = int8}, float4e2m1), "float4e2m1 has no zero points of int8");
  expect_refused(with({.zero_point = int8}, int32), "int32 has no zero points of int8");
  expect_refused(with({.zero_point = float16}, int16), "int16 has no zero points of float16");
  expect_refused(with({.zero_point = int8, .zero_point_offset = 257}), "-256 to 256");
  expect_refused(with({.zero_point = int8, .zero_point_offset = INT32_MIN}), "-256 to 256");
  expect_refused(with({.zero_point = float32, .zero_point_offset = 1}), "to a float");
  expect_refused(with({.zero_point = float32, .zero_point_overflow = wrap}), "no bits");
  expect_refused(with({.zero_point = int4, .zero_point_overflow = carry}), "do not fill words");
  expect_refused(with({.group_index = {.groups = 1}}), "only strided plans");
  Plan ranges = with({.tensor_scale = TensorScale::multiply}, uint8);
  ranges.rule = Rule::min_combined;
  expect_refused(ranges, "min_combined has none");
}

TEST(ParameterChecks, GroupsThatReachTooFarAreRefused) {
  const auto with = [](GroupIndex index, Dimension d) {
    Plan plan;
    plan.granularity = Granularity::strided;
    plan.dimensions = {d};
    plan.parameters.group_index = index;
    return plan;
  };
  const Dimension four{.size = 4, .x = 1, .y = 1, .group_index = 1};
  expect_refused(with({.groups = -1}, four), "none may be negative");
  expect_refused(with({.groups = 2, .scale = -1}, four), "none may be negative");
  expect_refused(with({.groups = 3, .scale = INT64_MAX}, four), "scale: a stride of");
  expect_refused(with({.groups = INT64_MAX, .zero_point = 2}, four), "zero_point: a stride of");
  expect_refused(with({.groups = 2, .scale = INT64_MAX}, four), "scale: a stride of");
  expect_refused(with({}, four), "of a plan without one");
  expect_refused(with({.groups = 1}, {.size = 4, .x = 1, .y = 1, .group_index = -1}), "negative");
  expect_refused(with({.groups = 1}, {.size = 4, .x = 1, .y = 1, .group_index = INT64_MAX}),
                 "group_index: a stride of");
  expect_refused(with({}, {.size = 4, .x = 1, .y = 1, .block = 0}), "a block of 0");
  expect_refused(with({}, {.size = 4, .x = 1, .y = 1, .block = INT64_MIN}), "less than 1");
  Plan many = with({}, {.size = 4, .x = 1, .y = 1, .block = 3});
  many.dimensions.resize(13, {.size = 1, .block = 2});
  expect_refused(many, "are more than 24");
  // A block that no index reaches the end of.
  const Plan large = with({}, {.size = 4, .x = 1, .scale = INT64_MAX, .y = 1, .block = INT64_MAX});
  EXPECT_EQ(extents(large).scale, 1);
  const Bytes x(4);
  const Bytes scale(4);
  Bytes y(16);
  EXPECT_TRUE(succeeds(run(large, {x, scale, {}, y})));
}

}  // namespace
}  // namespace dequant::parameter_checks_test
