// Per tensor and per axis in ai.onnx DequantizeLinear: the shape of x_scale decides, then the axis.
#include <gtest/gtest.h>

#include "dialect/node.h"

namespace dequant::onnx_granularity_test {
namespace {

using testing::accepts;
using testing::Dims;
using testing::is_invalid;
using testing::Node;
using testing::plan_of;
using testing::rejects;
using testing::succeeds;
using testing::Type;
using enum Element;

Plan per_tensor(int64_t count) { return {.input = int8, .inner = count}; }

Plan per_axis(int64_t outer, int64_t axis, int64_t inner) {
  return {.input = int8,
          .granularity = Granularity::per_axis,
          .outer = outer,
          .axis = axis,
          .inner = inner};
}

TEST(OnnxPerTensor, IsAScaleOfOneElementWhateverTheAxis) {
  accepts("scalar scale", {}, per_tensor(24));
  accepts("scale of shape [1]", {.scale = {float32, {1}}}, per_tensor(24));
  accepts("axis plays no part", {.axis = 2}, per_tensor(24));
  accepts("nor does one outside the rank", {.axis = 100}, per_tensor(24));
  accepts("0-D x with the default axis", {.x = {int8, {}}}, per_tensor(1));
  accepts("0-D x with scale [1]", {.x = {int8, {}}, .scale = {float32, {1}}}, per_tensor(1));
  accepts("1-D x with the default axis", {.x = {int8, {7}}}, per_tensor(7));
  accepts("1-D x with scale [1]", {.x = {int8, {7}}, .scale = {float32, {1}}}, per_tensor(7));
  accepts("empty x", {.x = {int8, {3, 0}}}, per_tensor(0));
  accepts("rank 9", {.x = {int8, {1, 2, 1, 2, 1, 2, 1, 2, 3}}}, per_tensor(48));
  accepts("opset 10", {.opset = 10}, per_tensor(24));
  accepts("opset 10, scale [1]", {.opset = 10, .scale = {float32, {1}}}, per_tensor(24));
}

TEST(OnnxPerTensor, TakesScaleAndZeroPointOfShapeScalarOrOneAlike) {
  for (const int64_t opset : testing::kVersions) {
    for (const Dims& scale : {Dims{}, Dims{1}}) {
      for (const Dims& zero : {Dims{}, Dims{1}}) {
        const auto plan =
            plan_of({.opset = opset, .scale = {float32, scale}, .zero = Type{int8, zero}});
        ASSERT_TRUE(plan) << plan.error().message;
        Plan want = per_tensor(24);
        want.has_zero_point = true;
        EXPECT_EQ(*plan, want);
      }
    }
  }
}

TEST(OnnxPerAxis, SplitsXAtTheAxis) {
  accepts("default axis 1", {.scale = {float32, {3}}}, per_axis(2, 3, 4));
  accepts("axis 0", {.scale = {float32, {2}}, .axis = 0}, per_axis(1, 2, 12));
  accepts("axis 2, the last", {.scale = {float32, {4}}, .axis = 2}, per_axis(6, 4, 1));
  accepts("axis -1", {.scale = {float32, {4}}, .axis = -1}, per_axis(6, 4, 1));
  accepts("axis -2", {.scale = {float32, {3}}, .axis = -2}, per_axis(2, 3, 4));
  accepts("axis -3, the first", {.scale = {float32, {2}}, .axis = -3}, per_axis(1, 2, 12));
  accepts("rank 1", {.x = {int8, {5}}, .scale = {float32, {5}}, .axis = 0}, per_axis(1, 5, 1));
  accepts("rank 1 from the back", {.x = {int8, {5}}, .scale = {float32, {5}}, .axis = -1},
          per_axis(1, 5, 1));
  accepts("an axis of dimension 0 needs 0 scales",
          {.x = {int8, {2, 0, 4}}, .scale = {float32, {0}}}, per_axis(2, 0, 4));
  accepts("a zero dimension elsewhere", {.x = {int8, {0, 3, 4}}, .scale = {float32, {3}}},
          per_axis(0, 3, 4));
  accepts("opset 13", {.opset = 13, .scale = {float32, {3}}}, per_axis(2, 3, 4));
  accepts("block_size 0 is not blocked", {.opset = 21, .scale = {float32, {3}}, .block_size = 0},
          per_axis(2, 3, 4));
}

TEST(OnnxPerAxis, RejectsAnAxisOutsideTheRank) {
  for (const int64_t axis : {int64_t{3}, int64_t{4}, int64_t{-4}, int64_t{-10}, int64_t{-100},
                             int64_t{INT32_MAX}, int64_t{INT32_MIN}, INT64_MAX, INT64_MIN}) {
    for (const int64_t opset : {13, 19, 21, 23, 24, 25}) {
      const auto plan = plan_of({.opset = opset, .scale = {float32, {3}}, .axis = axis});
      EXPECT_TRUE(is_invalid(plan, "axis: " + std::to_string(axis)));
    }
  }
}

TEST(OnnxPerAxis, RejectsScalesThatDoNotFitTheAxis) {
  rejects("one too few", {.scale = {float32, {2}}}, "x_scale: 2 scales for 3");
  rejects("one too many", {.scale = {float32, {4}}}, "x_scale: 4 scales for 3");
  rejects("one per element", {.scale = {float32, {24}}}, "x_scale: 24 scales");
  rejects("none", {.scale = {float32, {0}}}, "x_scale: 0 scales for 3");
  rejects("none, for an axis of 1", {.x = {int8, {2, 1}}, .scale = {float32, {0}}}, "x_scale");
  rejects("those of another axis", {.scale = {float32, {4}}, .axis = 0}, "axis 0");
  rejects("a per-axis scale and 0-D x", {.x = {int8, {}}, .scale = {float32, {2}}}, "rank 0");
  rejects("0-D x and axis 0", {.x = {int8, {}}, .scale = {float32, {2}}, .axis = 0}, "axis: 0");
  rejects("1-D x and the default axis", {.x = {int8, {5}}, .scale = {float32, {5}}}, "axis: 1");
  rejects("rank 2 without block_size", {.scale = {float32, {1, 1}}}, "needs a block_size");
  rejects("the shape of x", {.scale = {float32, {2, 3, 4}}}, "needs a block_size");
  rejects("rank 2 where there are no blocks", {.opset = 19, .scale = {float32, {3, 1}}},
          "must be a scalar or 1-D");
  rejects("per axis in opset 10", {.opset = 10, .scale = {float32, {3}}}, "must be a scalar");
  rejects("rank 2 in opset 10", {.opset = 10, .scale = {float32, {3, 1}}}, "x_scale");
}

TEST(OnnxPerAxis, RejectsAZeroPointOfAnotherShapeThanTheScale) {
  const Node node{.scale = {float32, {3}}};
  for (const Dims& zero : {Dims{}, Dims{1}, Dims{2}, Dims{4}, Dims{0}, Dims{3, 1}, Dims{1, 3}}) {
    Node with = node;
    with.zero = Type{int8, zero};
    EXPECT_TRUE(is_invalid(plan_of(with), "x_zero_point: shape"));
  }
  Node same = node;
  same.zero = Type{int8, {3}};
  EXPECT_TRUE(succeeds(plan_of(same)));
}

TEST(OnnxPerTensor, RejectsAZeroPointOfAnotherShapeThanTheScale) {
  for (const Dims& zero : {Dims{2}, Dims{0}, Dims{3}, Dims{1, 1}, Dims{24}}) {
    for (const Dims& scale : {Dims{}, Dims{1}}) {
      const auto plan = plan_of({.scale = {float32, scale}, .zero = Type{int8, zero}});
      EXPECT_TRUE(is_invalid(plan, "x_zero_point: shape"));
    }
  }
}

TEST(OnnxSizes, RejectsShapesWhoseSizesOverflow) {
  const int64_t k30 = int64_t{1} << 30;
  const int64_t k32 = int64_t{1} << 32;
  const int64_t k40 = int64_t{1} << 40;
  rejects("a negative dimension", {.x = {int8, {2, -1}}}, "x: dimension 1");
  rejects("two negative dimensions", {.x = {int8, {-2, -2}}}, "negative");
  rejects("2^64 elements", {.x = {int8, {k32, k32}}}, "2^63");
  rejects("2^70 elements", {.x = {int8, {k40, k30}}}, "2^63");
  rejects("2^64 - 2 elements", {.x = {int8, {INT64_MAX, 2}}}, "2^63");
  rejects("a zero first", {.x = {int8, {0, k40, k40}}}, "2^63");
  rejects("a zero last", {.x = {int8, {k40, k40, 0}}}, "2^63");
  rejects("bytes of y: 2^64 - 16", {.x = {int8, {4, k30 - 1, k30 + 1}}}, "y: ");
  rejects("bytes of y, 2-bit x", {.x = {int2, {int64_t{1} << 61}}}, "y: ");
  rejects("a negative scale dimension", {.scale = {float32, {-1}}}, "x_scale: dimension 0");
  rejects("overflow in x_scale", {.scale = {float32, {k32, k32}}}, "x_scale: ");
  rejects("overflow in x_zero_point", {.zero = Type{int8, {k32, k32}}}, "x_zero_point: ");
}

TEST(OnnxSizes, AcceptsHugeShapesThatFit) {
  const int64_t most = (int64_t{1} << 61) - 1;
  accepts("the most float32", {.x = {int8, {most}}}, per_tensor(most));
  EXPECT_TRUE(succeeds(plan_of({.x = {int8, {most}}, .scale = {float32, {most}}, .axis = 0})));
}

}  // namespace
}  // namespace dequant::onnx_granularity_test
