// WebNN dequantizeLinear: what is taken, what is refused, which plan comes out, and numbers.
#include "dequant/webnn.h"

#include <gtest/gtest.h>

#include "element/codes.h"
#include "element/reference.h"
#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"
#include "support/random.h"

namespace dequant::webnn_test {
namespace {

using namespace testing;
using enum Element;

/// An operation that owns its shapes.
struct Operation {
  Type input = {uint8, {4, 6}};
  Type scale = {float32, {2, 3}};
  Type zero = {uint8, {2, 3}};
};

Result<Plan> plan_of(const Operation& op) {
  return webnn::dequantize_linear({.input = {op.input.element, op.input.shape},
                                   .scale = {op.scale.element, op.scale.shape},
                                   .zero_point = {op.zero.element, op.zero.shape}});
}

Operation shaped(const Fixed& input, const Fixed& param_sizes, Element element = uint8,
                 Element scale = float32) {
  return {{element, input}, {scale, param_sizes}, {element, param_sizes}};
}

constexpr Rejects<Operation> rejects;

TEST(WebNNTypes, TakesTheIntegersAndFloatsOfTheSpecificationAndFourBits) {
  for (const Element input : elements()) {
    for (const Element scale : elements()) {
      const bool allowed = (input == uint8 || input == int8 || input == uint4 || input == int4 ||
                            input == uint32 || input == int32) &&
                           (scale == float32 || scale == float16);
      const auto plan = plan_of(shaped({4, 6}, {2, 3}, input, scale));
      ASSERT_EQ(static_cast<bool>(plan), allowed) << name(input) << " " << name(scale);
      if (!plan) continue;
      EXPECT_EQ(plan->input, input);
      EXPECT_EQ(plan->scale, scale);
      EXPECT_EQ(plan->output, scale);
      EXPECT_EQ(plan->rule, Rule::subtract_then_scale);
      EXPECT_TRUE(plan->has_zero_point);
    }
  }
}

TEST(WebNNTypes, ZeroPointHasTheTypeOfTheInput) {
  Operation op;
  op.zero.element = int8;
  rejects("int8 for uint8", op, "zeroPoint: element type int8 differs from that of input, uint8");
}

TEST(WebNNShapes, RanksAreEqual) {
  rejects("a scalar", shaped({4, 6}, {}), "scale: shape [] has rank 0");
  rejects("shorter", shaped({4, 6}, {6}), "reshape it with dimensions of 1");
  rejects("longer", shaped({4, 6}, {1, 4, 6}), "scale: shape [1, 4, 6] has rank 3");
}

TEST(WebNNShapes, EveryDimensionOfScaleDividesThatOfTheInput) {
  for (int64_t size = 1; size <= 12; ++size) {
    for (int64_t blocks = 0; blocks <= 13; ++blocks) {
      const bool divides = blocks >= 1 && size % blocks == 0;
      ASSERT_EQ(static_cast<bool>(plan_of(shaped({2, size}, {1, blocks}))), divides)
          << size << " by " << blocks;
    }
  }
  rejects("4 into 6", shaped({6, 4}, {4, 4}), "scale: dimension 0 is 4, which does not divide 6");
  rejects("negative", shaped({6, 4}, {-1, 4}), "scale: dimension 0 is -1");
}

TEST(WebNNShapes, ZeroPointHasTheShapeOfScale) {
  for (const Fixed& zero : {Fixed{}, Fixed{1, 1}, Fixed{2}, Fixed{4, 6}, Fixed{3, 2}}) {
    Operation op;
    op.zero.shape = zero;
    rejects("another shape", op, "differs from that of scale, [2, 3]");
  }
}

TEST(WebNNShapes, DimensionsAreAtLeastOneAndAtMostEight) {
  rejects("0", shaped({0, 6}, {0, 3}), "input: dimension 0 of [0, 6] is less than 1");
  rejects("negative", shaped({-2, 6}, {2, 3}), "less than 1");
  rejects("rank 9", shaped({1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}),
          "input: rank 9");
  EXPECT_TRUE(succeeds(plan_of(shaped({1, 2, 1, 2, 1, 2, 1, 2}, {1, 2, 1, 1, 1, 1, 1, 2}))));
  rejects("too many elements", shaped({INT64_MAX, 3}, {1, 1}), "input: ");
  rejects("too many bytes", shaped({INT64_MAX / 2, 1}, {1, 1}), "input: ");
}

TEST(WebNNPlan, IsTheSimplestThatSaysTheSame) {
  const auto plan = [](const Operation& op) {
    const auto result = plan_of(op);
    EXPECT_TRUE(succeeds(result));
    return result ? *result : Plan{};
  };
  const Plan base{.input = uint8, .has_zero_point = true};
  Plan want = base;
  EXPECT_EQ(plan(shaped({}, {})), want) << "a scalar";
  want.inner = 24;
  EXPECT_EQ(plan(shaped({4, 6}, {1, 1})), want) << "one scale";

  want = base;
  want.granularity = Granularity::per_axis;
  want.outer = 2;
  want.axis = 3;
  want.inner = 4;
  EXPECT_EQ(plan(shaped({2, 3, 4}, {1, 3, 1})), want) << "one axis";

  want = base;
  want.granularity = Granularity::blocked;
  want.outer = 4;  // two rows of two blocks each
  want.axis = 4;
  want.inner = 3;
  want.block = 4;
  EXPECT_EQ(plan(shaped({2, 8, 3}, {2, 2, 3})), want) << "blocks on one axis";
  EXPECT_EQ(plan(shaped({6, 4}, {2, 2})).granularity, Granularity::strided) << "on two";
}

TEST(WebNNNumbers, EachBlockHasItsOwnScaleAndZeroPoint) {
  const auto plan = plan_of(shaped({2, 4}, {2, 2}, int8));
  ASSERT_TRUE(succeeds(plan));
  const Bytes x = pack(int8, {1, 2, 3, 4, 5, 6, 7, 0xFF});
  const Bytes scale = pack(float32, {bits_of(1), bits_of(2), bits_of(4), bits_of(8)});
  const Bytes zero = pack(int8, {0, 1, 2, 3});
  Bytes y(32);
  ASSERT_TRUE(succeeds(run(*plan, {.x = x, .scale = scale, .zero_point = zero, .y = y})));
  const std::array<float, 8> want{1, 2, 4, 6, 12, 16, 32, -32};
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(float_of(code_at(float32, y, static_cast<int64_t>(i))), want[i]) << i;
  }
}

/// The scale of an element by the specification: its index divided by the block, axis by axis.
int64_t param_index(const Dims& input, const Dims& param_sizes, int64_t i) {
  int64_t index = 0;
  int64_t stride = 1;
  for (size_t d = input.size(); d-- > 0;) {
    index += i % input[d] / (input[d] / param_sizes[d]) * stride;
    i /= input[d];
    stride *= param_sizes[d];
  }
  return index;
}

TEST(WebNNRandom, EveryOperationComputesTheFormula) {
  static constexpr Element kInputs[] = {uint8, int8, uint32, int32, uint4, int4};
  Random random(31);
  for (int round = 0; round < 600; ++round) {
    Dims input(static_cast<size_t>(random.in(0, 8)));
    Dims param_sizes;
    for (int64_t& d : input) {
      d = random.in(1, input.size() > 5 ? 3 : 8);
      int64_t blocks = 0;
      do blocks = random.in(1, d);
      while (d % blocks != 0);
      param_sizes.push_back(blocks);
    }
    const Element x_type = kInputs[random.in(0, 5)];
    const Element y_type = random.coin() ? float32 : float16;
    const auto plan = plan_of(shaped(input, param_sizes, x_type, y_type));
    ASSERT_TRUE(succeeds(plan));

    const Bytes x = random_bytes(random, bytes_for(x_type, count_of(input)));
    const Bytes scale = random_bytes(random, bytes_for(y_type, count_of(param_sizes)));
    const Bytes zero = random_bytes(random, bytes_for(x_type, count_of(param_sizes)));
    Bytes y(bytes_for(y_type, count_of(input)));
    ASSERT_TRUE(succeeds(run(*plan, {.x = x, .scale = scale, .zero_point = zero, .y = y})));
    for (int64_t i = 0; i < count_of(input); ++i) {
      const int64_t s = param_index(input, param_sizes, i);
      const int64_t z = integer_value(x_type, code_at(x_type, zero, s));
      const float factor = float_value(y_type, code_at(y_type, scale, s));
      ASSERT_EQ(code_at(y_type, y, i),
                reference_dequantize(x_type, code_at(x_type, x, i), z, factor, y_type))
          << to_string(*plan) << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace dequant::webnn_test
