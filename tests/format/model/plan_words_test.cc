// Words about plans: the shapes of scales of checkpoints, from the producers' tensors.
#include "format/model/plan_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dequant/onnx.h"
#include "dequant/scheme.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using enum Element;
using testing::succeeds;
using Sizes = std::vector<int64_t>;

struct Stored {
  std::string_view name;
  Element element;
  Sizes shape;
};

SchemePlan plan_of(std::string_view scheme, const std::vector<Stored>& stored,
                   const std::vector<SchemeOption>& options) {
  std::vector<SchemeTensor> tensors;
  for (const Stored& s : stored) tensors.push_back({s.name, {s.element, s.shape}});
  auto plan = plan_scheme({scheme, tensors, options, bfloat16});
  EXPECT_TRUE(succeeds(plan));
  return plan ? *std::move(plan) : SchemePlan();
}

/// "uint4, groups of 32".
std::string words(std::string_view scheme, const std::vector<Stored>& stored,
                  const std::vector<SchemeOption>& options = {}) {
  const SchemePlan dense = plan_of(scheme, stored, options);
  return codes_text(dense.plan) + ", " + granularity_text(dense.plan, {}, dense.shape);
}

std::string fp8(const Sizes& weight, const Sizes& scale, const char* block = nullptr) {
  std::vector<SchemeOption> options;
  if (block != nullptr) options.push_back({"block", block});
  return words("fp8", {{"weight", float8e4m3fn, weight}, {"weight_scale", float32, scale}}, options)
      .substr(sizeof "float8e4m3fn, " - 1);
}

TEST(ScalesText, SaysHowScalesDivideAWeight) {
  EXPECT_EQ(fp8({576, 136}, {}), "per tensor");
  EXPECT_EQ(fp8({576, 136}, {1, 1}), "per tensor");
  EXPECT_EQ(fp8({576, 136}, {576}), "per row");
  EXPECT_EQ(fp8({576, 136}, {576, 1}), "per row");
  EXPECT_EQ(fp8({576, 136}, {5, 2}, "128,128"), "blocks of 128 x 128");
  EXPECT_EQ(fp8({256, 256}, {2, 2}, "128,128"), "blocks of 128 x 128");
  EXPECT_EQ(fp8({128, 256}, {1, 2}, "128,128"), "blocks of 128 x 128");
  EXPECT_EQ(fp8({64, 100}, {64, 4}, "1,32"), "groups of 32");
  EXPECT_EQ(fp8({64, 128}, {64, 4}, "1,32"), "groups of 32");
  EXPECT_EQ(fp8({64, 128}, {64, 128}), "per element");
  EXPECT_EQ(fp8({2, 64, 96}, {2, 64, 3}, "1,1,32"), "groups of 32");
  EXPECT_EQ(fp8({1, 96}, {1, 3}, "1,32"), "groups of 32");
  EXPECT_EQ(fp8({0, 96}, {0, 3}, "1,32"), "per tensor");
}

TEST(ScalesText, KnowsTransposesRunsAndIndices) {
  EXPECT_EQ(words("gptoss", {{"blocks", uint8, {4, 64, 3, 16}}, {"scales", uint8, {4, 64, 3}}},
                  {{"transposed", "true"}}),
            "float4e2m1, groups of 32 on axis 1");
  const std::vector<Stored> gptq{
      {"qweight", int32, {8, 16}}, {"qzeros", int32, {2, 2}}, {"scales", float16, {2, 16}}};
  EXPECT_EQ(words("gptq", gptq, {{"group_size", "32"}}), "uint4, groups of 32");
  std::vector<Stored> ordered = gptq;
  ordered.push_back({"g_idx", int32, {64}});
  EXPECT_EQ(words("gptq", ordered), "uint4, 2 groups by an index");
  const auto nf4 = [](int64_t blocks, int64_t bytes, const char* shape) {
    return words("bitsandbytes",
                 {{"weight", uint8, {bytes, 1}},
                  {"absmax", float32, {blocks}},
                  {"quant_map", float32, {16}}},
                 {{"shape", shape}});
  };
  EXPECT_EQ(nf4(60, 1920, "48,80"), "uint4, runs of 64, over rows");
  EXPECT_EQ(nf4(128, 4096, "64,128"), "uint4, groups of 64");
  EXPECT_EQ(nf4(2, 50, "10,10"), "uint4, runs of 64, over rows");
}

TEST(CodesText, HasTheBitsOfCodesThatShareWords) {
  for (const int bits : {3, 5, 6}) {
    const std::string text = std::to_string(bits);
    EXPECT_EQ(words("mlx",
                    {{"weight", uint32, {24, 2 * bits}},
                     {"scales", float16, {24, 1}},
                     {"biases", float16, {24, 1}}},
                    {{"bits", text}}),
              "uint" + text + ", per row");
  }
  EXPECT_EQ(words("quark", {{"weight", int32, {64, 2}}, {"weight_scale", float32, {2, 16}}},
                  {{"weight_dtype", "int4"}, {"group_size", "32"}}),
            "int4, groups of 32");
}

TEST(ScalesText, KnowsThePlansOfNodes) {
  const auto node = [](const Sizes& x, const Sizes& scale, int64_t axis, int64_t block) {
    dequant::onnx::DequantizeLinear n;
    n.x = {int8, x};
    n.x_scale = {float32, scale};
    n.axis = axis;
    n.block_size = block;
    const auto plan = dequantize_linear(n);
    EXPECT_TRUE(succeeds(plan));
    return granularity_text(*plan, {}, x);
  };
  EXPECT_EQ(node({6, 8}, {}, 1, 0), "per tensor");
  EXPECT_EQ(node({6, 8}, {6}, 0, 0), "per row");
  EXPECT_EQ(node({6, 8}, {8}, 1, 0), "per column");
  EXPECT_EQ(node({6, 8}, {6, 3}, 1, 3), "groups of 3");
  EXPECT_EQ(node({6, 8}, {2, 8}, 0, 3), "groups of 3 on axis 0");
}

}  // namespace
}  // namespace dequant::format
