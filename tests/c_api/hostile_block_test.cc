// Hostile input: blocks of ONNX, and those that WebNN's sizes imply.
#include <climits>

#include "c_api/hostile.h"

namespace dequant::testing::c::hostile_block_test {
namespace {

OnnxNode blocked(Dims x, Dims scale, int64_t axis, std::optional<int64_t> block) {
  return {
      .x_dims = std::move(x), .scale_dims = std::move(scale), .axis = axis, .block_size = block};
}

/// Every element is 1 and scale i is i, so that each output says whose scale it had. `index` is the
/// scale of an element by the specification.
template <class Index>
void expect_scales(const OnnxNode& node, Index index) {
  size_t count = 1;
  for (const int64_t d : node.x_dims) count *= static_cast<size_t>(d);
  size_t scales = 1;
  for (const int64_t d : node.scale_dims) scales *= static_cast<size_t>(d);
  std::vector<float> scale(scales);
  for (size_t i = 0; i < scales; ++i) scale[i] = static_cast<float>(i);
  const auto y = dequantize<float>(node, std::vector<int8_t>(count, 1), scale);
  ASSERT_EQ(y.size(), count);
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(y[i], static_cast<float>(index(static_cast<int64_t>(i)))) << "element " << i;
  }
}

TEST(Hostile, BlockSizeZeroMeansNotBlocked) {
  for (const auto block : {std::optional<int64_t>{}, std::optional<int64_t>{0}}) {
    EXPECT_TRUE(is_invalid(plan(blocked({4, 6}, {4, 3}, 1, block)), "x_scale: shape [4, 3]"));
    EXPECT_TRUE(is_invalid(plan(blocked({4, 6}, {1, 1}, 1, block)), "x_scale: shape [1, 1]"));
    EXPECT_TRUE(succeeds(plan(blocked({4, 6}, {6}, 1, block))));
    EXPECT_TRUE(succeeds(plan(blocked({4, 6}, {}, 1, block))));
  }
}

TEST(Hostile, NegativeBlockSizesAreRefused) {
  for (const int64_t block : {int64_t{-1}, int64_t{-2}, int64_t{INT32_MIN}, INT64_MIN}) {
    const std::string said = "block_size: " + std::to_string(block);
    EXPECT_TRUE(is_invalid(plan(blocked({4, 6}, {4, 3}, 1, block)), said));
    EXPECT_TRUE(is_invalid(plan(blocked({4, 6}, {}, 1, block)), said));
  }
}

TEST(Hostile, ABlockLargerThanItsDimensionIsOneBlock) {
  for (const int64_t block : {int64_t{6}, int64_t{7}, int64_t{INT32_MAX}, INT64_MAX}) {
    const auto node = blocked({2, 6}, {2, 1}, 1, block);
    expect_scales(node, [](int64_t i) { return i / 6; });
    for (const Dims& scale : {Dims{2, 0}, Dims{2, 2}, Dims{2, 6}}) {
      EXPECT_TRUE(is_invalid(plan(blocked({2, 6}, scale, 1, block)), "x_scale: dimension 1"));
    }
  }
}

TEST(Hostile, ABlockSizeHoldsIfItGivesThatNumberOfScales) {
  // ceil(100 / 7) = 15 to ceil(100 / 6) - 1 = 16, by the specification's range.
  for (const int64_t block : {14, 15, 16, 17}) {
    const auto node = blocked({100}, {7}, 0, block);
    if (block == 15 || block == 16) {
      expect_scales(node, [=](int64_t i) { return i / block; });
    } else {
      EXPECT_TRUE(is_invalid(plan(node), "x_scale: dimension 0 is 7")) << block;
    }
  }
  // WebNN's sizes must divide.
  for (const int64_t scales : {1, 2, 5, 10, 3, 4, 6, 9, 11, 20}) {
    const Dims input{10};
    const Dims scale{scales};
    auto node = sized<dequant_webnn>();
    node.input = tensor(DEQUANT_INT8, input);
    node.scale = tensor(DEQUANT_FLOAT32, scale);
    node.zero_point = tensor(DEQUANT_INT8, scale);
    if (10 % scales == 0) {
      EXPECT_TRUE(succeeds(plan(node))) << scales;
    } else {
      EXPECT_TRUE(is_invalid(plan(node), "scale")) << scales;
    }
  }
}

TEST(Hostile, ScalesOfBlocksHaveTheShapeOfXElsewhere) {
  for (const Dims& scale : {Dims{}, Dims{2}, Dims{4, 2}, Dims{3, 4, 2, 1}, Dims{1, 3, 4, 2}}) {
    EXPECT_TRUE(is_invalid(plan(blocked({3, 4, 6}, scale, 2, 3)), "rank of x"));
  }
  for (const Dims& scale : {Dims{1, 4, 2}, Dims{3, 1, 2}, Dims{4, 4, 2}, Dims{3, 4, 6}}) {
    EXPECT_TRUE(is_invalid(plan(blocked({3, 4, 6}, scale, 2, 3)), "x_scale: dimension"));
  }
  EXPECT_TRUE(is_invalid(plan(blocked({}, {}, 0, 3)), "rank 0"));
}

TEST(Hostile, BlocksOfAVectorAreBlocks) {
  // A published wrong answer: x per axis where it was blocked.
  OnnxNode node = blocked({8}, {2}, 0, 4);
  node.has_zero = true;
  node.zero_dims = {2};
  const auto y = dequantize<float, int8_t, float>(node, {10, 20, 30, 40, 50, 60, 70, 80},
                                                  {0.5F, 2.0F}, {0, 10});
  EXPECT_EQ(y, (std::vector<float>{5, 10, 15, 20, 80, 100, 120, 140}));
}

TEST(Hostile, BlocksInTheMiddleHaveTheScalesOfTheirIndices) {
  for (const int64_t axis : {0, 1, 2, 3, -1, -2}) {
    for (const int64_t block : {1, 2, 3}) {
      const Dims x{4, 5, 6, 7};
      Dims scale = x;
      const auto at = static_cast<size_t>(axis < 0 ? axis + 4 : axis);
      scale[at] = (x[at] + block - 1) / block;
      expect_scales(blocked(x, scale, axis, block), [&](int64_t i) {
        int64_t found = 0;
        int64_t stride = 1;
        for (size_t d = 4; d-- > 0;) {
          const int64_t index = i % x[d];
          i /= x[d];
          found += (d == at ? index / block : index) * stride;
          stride *= scale[d];
        }
        return found;
      });
    }
  }
}

}  // namespace
}  // namespace dequant::testing::c::hostile_block_test
