// Blocks in ai.onnx DequantizeLinear, since version 21.
#include <gtest/gtest.h>

#include "dialect/node.h"

namespace dequant::onnx_blocked_test {
namespace {

using testing::accepts;
using testing::Dims;
using testing::Fixed;
using testing::is_invalid;
using testing::Node;
using testing::plan_of;
using testing::rejects;
using testing::succeeds;
using testing::Type;
using enum Element;

Plan blocked(int64_t outer, int64_t axis, int64_t inner, int64_t block) {
  return {.input = int8,
          .granularity = Granularity::blocked,
          .outer = outer,
          .axis = axis,
          .inner = inner,
          .block = block};
}

/// int8[2, 3, 4] or another x, with blocks.
Node node(const Fixed& scale, int64_t axis, int64_t block, const Fixed& x = {2, 3, 4}) {
  return {.x = {int8, x}, .scale = {float32, scale}, .axis = axis, .block_size = block};
}

TEST(OnnxBlocked, SplitsTheAxisIntoBlocks) {
  accepts("last axis", node({2, 3, 2}, 2, 2), blocked(6, 4, 1, 2));
  accepts("last axis from the back", node({2, 3, 2}, -1, 2), blocked(6, 4, 1, 2));
  accepts("middle axis, short last block", node({2, 2, 4}, 1, 2), blocked(2, 3, 4, 2));
  accepts("first axis", node({1, 3, 4}, 0, 2), blocked(1, 2, 12, 2));
  accepts("first axis from the back", node({1, 3, 4}, -3, 2), blocked(1, 2, 12, 2));
  accepts("blocks of one", node({2, 3, 4}, 1, 1), blocked(2, 3, 4, 1));
  accepts("one block, exactly the axis", node({2, 1, 4}, 1, 3), blocked(2, 3, 4, 3));
  accepts("one block, larger than the axis", node({2, 1, 4}, 1, 1000), blocked(2, 3, 4, 3));
  accepts("the largest block size", node({2, 1, 4}, 1, INT64_MAX), blocked(2, 3, 4, 3));
  accepts("rank 1", node({3}, 0, 2, {5}), blocked(1, 5, 1, 2));
  accepts("rank 1 in one block", node({1}, 0, 8, {5}), blocked(1, 5, 1, 5));
  accepts("an axis of dimension 0 has no block", node({2, 0, 4}, 1, 2, {2, 0, 4}),
          blocked(2, 0, 4, 1));
  accepts("a zero dimension elsewhere", node({0, 2, 4}, 1, 2, {0, 3, 4}), blocked(0, 3, 4, 2));
  accepts("rank 5, axis 3", node({2, 1, 2, 2, 3}, 3, 4, {2, 1, 2, 7, 3}), blocked(4, 7, 3, 4));
}

TEST(OnnxBlocked, DefaultAxisIsOne) {
  const Node with_default{.scale = {float32, {2, 2, 4}}, .block_size = 2};
  accepts("axis not set", with_default, blocked(2, 3, 4, 2));
}

TEST(OnnxBlocked, BlockSizeIsRightExactlyWhenItYieldsTheNumberOfBlocks) {
  for (int64_t size = 0; size <= 20; ++size) {
    for (int64_t block = 1; block <= 23; ++block) {
      for (int64_t blocks = 0; blocks <= 22; ++blocks) {
        const auto plan = plan_of(node({2, blocks}, 1, block, {2, size}));
        // The last block begins before the end, and no further one does.
        const bool covers = blocks * block >= size && (blocks == 0 || (blocks - 1) * block < size);
        ASSERT_EQ(static_cast<bool>(plan), covers) << size << " " << block << " " << blocks;
      }
    }
  }
}

TEST(OnnxBlocked, BothBordersOfTheRangeOfTheSpecification) {
  // Di = 10, Si = 3: from ceil(10 / 3) = 4 to ceil(10 / 2) - 1 = 4; Di = 9, Si = 2: from 5 to 8.
  rejects("below the only one", node({3}, 0, 3, {10}), "x_scale: dimension 0 is 3");
  rejects("above the only one", node({3}, 0, 5, {10}), "x_scale: dimension 0 is 3");
  rejects("below the lower", node({2}, 0, 4, {9}), "x_scale");
  rejects("above the upper", node({2}, 0, 9, {9}), "x_scale");
  EXPECT_TRUE(succeeds(plan_of(node({3}, 0, 4, {10}))));
  EXPECT_TRUE(succeeds(plan_of(node({2}, 0, 5, {9}))));
  EXPECT_TRUE(succeeds(plan_of(node({2}, 0, 8, {9}))));
}

TEST(OnnxDequantizeLinear21, RejectsBlockSizeThatDoesNotCoverAxis) {
  for (const int64_t opset : {21, 23, 24, 25}) {
    Node n = node({2, 3, 1}, 2, 2);
    n.opset = opset;
    EXPECT_TRUE(is_invalid(plan_of(n), "ceil(x / block_size)"));
  }
}

TEST(OnnxBlocked, RejectsNegativeBlockSizes) {
  for (const int64_t block : {int64_t{-1}, int64_t{-2}, int64_t{INT32_MIN}, INT64_MIN}) {
    EXPECT_TRUE(is_invalid(plan_of(node({2, 2, 4}, 1, block)), "block_size: "));
    EXPECT_TRUE(is_invalid(plan_of(node({}, 1, block)), "negative"));
  }
}

TEST(OnnxBlocked, RejectsScalesOfAnotherRankOrSize) {
  rejects("a scalar", node({}, 1, 2), "rank of x");
  rejects("shape [1]", node({1}, 1, 2), "rank of x");
  rejects("per axis", node({3}, 1, 2), "rank of x");
  rejects("one dimension short", node({2, 2}, 1, 2), "rank of x");
  rejects("one dimension more", node({2, 2, 4, 1}, 1, 2), "rank of x");
  rejects("another first dimension", node({1, 2, 4}, 1, 2), "x_scale: dimension 0 is 1");
  rejects("another last dimension", node({2, 2, 1}, 1, 2), "x_scale: dimension 2 is 1");
  rejects("surplus blocks", node({2, 3, 4}, 1, 2), "x_scale: dimension 1 is 3");
  rejects("missing blocks", node({2, 1, 4}, 1, 2), "x_scale: dimension 1 is 1");
  rejects("0-D x", node({}, 0, 2, {}), "rank 0");
}

TEST(OnnxBlocked, RejectsAnAxisOutsideTheRank) {
  for (const int64_t axis : {int64_t{3}, int64_t{4}, int64_t{-4}, int64_t{-100}, int64_t{INT32_MAX},
                             int64_t{INT32_MIN}, INT64_MAX, INT64_MIN}) {
    EXPECT_TRUE(is_invalid(plan_of(node({2, 2, 4}, axis, 2)), "axis: " + std::to_string(axis)));
  }
  const Node rank1{.x = {int8, {5}}, .scale = {float32, {3}}, .block_size = 2};
  EXPECT_TRUE(is_invalid(plan_of(rank1), "axis: 1")) << "the default axis, and x of rank 1";
}

TEST(OnnxBlocked, ZeroPointHasTheShapeOfTheScale) {
  Node n = node({2, 2, 4}, 1, 2);
  for (const Dims& zero : {Dims{}, Dims{1}, Dims{2}, Dims{2, 2}, Dims{2, 3, 4}, Dims{2, 4, 2}}) {
    n.zero = Type{int8, zero};
    EXPECT_TRUE(is_invalid(plan_of(n), "x_zero_point: shape"));
  }
  n.zero = Type{int8, {2, 2, 4}};
  EXPECT_TRUE(succeeds(plan_of(n)));

  Node one = node({1}, 0, 8, {5});
  one.zero = Type{int8, {}};
  EXPECT_TRUE(succeeds(plan_of(one))) << "a scalar and [1] are alike here too";
}

TEST(OnnxBlocked, RejectsBlocksInScaleOnlyWhenTheyAreNotBlocks) {
  Node n = node({2, 2, 4}, 1, 2);
  n.block_size.reset();
  EXPECT_TRUE(is_invalid(plan_of(n), "needs a block_size"));
  n.block_size = 0;
  EXPECT_TRUE(is_invalid(plan_of(n), "needs a block_size"));
}

}  // namespace
}  // namespace dequant::onnx_blocked_test
