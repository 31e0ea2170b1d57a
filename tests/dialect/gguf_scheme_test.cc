// The scheme "gguf": bytes, type and shape in text give the plan of gguf::dequantize().
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "dequant/gguf.h"
#include "dequant/scheme.h"
#include "support/expect_error.h"

namespace dequant::gguf_scheme_test {
namespace {

using testing::fails;
using testing::is_invalid;
using testing::succeeds;
using enum Element;
using Dims = std::vector<int64_t>;

/// A node of the scheme; options that are null are left out.
struct Node {
  Dims data;
  const char* type = nullptr;
  const char* shape = nullptr;
  std::optional<Dims> scale = {};
  Element element = uint8;
  Element scale_element = float32;
};

Result<SchemePlan> plan(const Node& n) {
  std::vector<SchemeTensor> tensors;
  if (n.scale) tensors.push_back({"scale", {n.scale_element, *n.scale}});
  tensors.push_back({"data", {n.element, n.data}});
  std::vector<SchemeOption> options;
  if (n.type != nullptr) options.push_back({"type", n.type});
  if (n.shape != nullptr) options.push_back({"shape", n.shape});
  return plan_scheme({"gguf", tensors, options, bfloat16});
}

TEST(GgufScheme, GivesThePlanOfTheDialect) {
  const Dims shape{3, 4, 512};
  const auto want = gguf::dequantize({BlockType::Q4_K, shape, bfloat16});
  const Node nodes[] = {{{3, 4, 288}, "Q4_K"},
                        {{3, 4, 288}, "12"},
                        {{12 * 288}, "Q4_K", "3,4,512"},
                        {{24, 144}, "12", "3,4,512"}};
  for (const Node& node : nodes) {
    const auto dense = plan(node);
    ASSERT_TRUE(succeeds(dense));
    EXPECT_EQ(dense->plan, *want);
    EXPECT_EQ(dense->shape, shape);
    EXPECT_EQ(dense->x, 0U);
    EXPECT_FALSE(dense->scale);
    EXPECT_FALSE(dense->tensor_scale);
  }
}

TEST(GgufScheme, HasAScaleOfOneNumber) {
  for (const Dims& shape : {Dims{}, Dims{1}, Dims{1, 1}}) {
    const auto dense = plan({{2, 36}, "NVFP4", nullptr, shape});
    ASSERT_TRUE(succeeds(dense));
    EXPECT_EQ(dense->plan, *gguf::dequantize({BlockType::NVFP4, Dims{2, 64}, bfloat16, true}));
    EXPECT_EQ(dense->x, 1U);
    EXPECT_EQ(dense->tensor_scale, 0U);
  }
}

TEST(GgufScheme, HasAScaleForEachExpert) {
  const auto dense = plan({{3, 2, 36}, "NVFP4", nullptr, Dims{3}});
  ASSERT_TRUE(succeeds(dense));
  EXPECT_EQ(dense->plan,
            *gguf::dequantize({BlockType::NVFP4, Dims{3, 2, 64}, bfloat16, true, true}));
}

TEST(GgufScheme, TakesEmptyTensors) {
  for (const Node& node : {Node{{0, 144}, "Q4_K"}, Node{{2, 0}, "Q4_K"}, Node{{0}, "2", "0,64"}})
    EXPECT_TRUE(succeeds(plan(node)));
}

TEST(GgufScheme, RefusesWhatIsNoTensorOfBlocks) {
  const auto refuses = [](const Node& node, std::string_view words) {
    EXPECT_TRUE(is_invalid(plan(node), words));
  };
  refuses({{144}}, "gguf needs a type");
  refuses({{}, "Q4_K"}, "data: shape [] has no rows");
  refuses({{2, 143}, "Q4_K"},
          "data: rows of 143 bytes in [2, 143] are no multiple of the 144 bytes of a Q4_K block");
  refuses({{INT64_MAX / 18 * 18}, "Q4_0"}, "do not fit in 64 bits");
  refuses({{-1, 144}, "Q4_K"}, "-1");
  refuses({{144}, "Q4_K", "128"}, "rows of 128 in [128]");
  refuses({{143}, "Q4_K", "256"}, "data: 143 bytes where Q4_K of shape [256] has 144");
  refuses({{145}, "Q4_K", "256"}, "data: 145 bytes where Q4_K of shape [256] has 144");
  refuses({{144}, "Q4_K", "256,"}, "is not a list of integers");
  refuses({{144}, "Q4_K", nullptr, {}, int8}, "data: element type int8 is not uint8");
  refuses({{2, 3}, "Q4_K", nullptr, {}, float32}, "data: element type float32 is not uint8");
  refuses({{64 * 36}, "NVFP4", nullptr, Dims{64}}, "scale: shape [64] is neither");
  refuses({{2, 36}, "NVFP4", nullptr, Dims{3}},
          "scale: shape [3] is neither that of one number nor of one for each index of the first "
          "dimension of [2, 64]");
  refuses({{2, 36}, "NVFP4", nullptr, Dims{2, 1}}, "scale: shape [2, 1] is neither");
  refuses({{36}, "NVFP4", nullptr, Dims{0}}, "scale: shape [0] is neither");
  refuses({{36}, "NVFP4", nullptr, Dims{}, uint8, float16}, "scale: element type float16");
}

TEST(GgufScheme, RefusesTypesThatAreNoBlocksByName) {
  const auto refuses = [](const char* type, std::string_view words) {
    EXPECT_TRUE(fails(plan({{144}, type}), ErrorCode::unsupported, words));
  };
  refuses("F16", "type: F16, number 1, has plain numbers, not blocks");
  refuses("31", "Q4_0_4_4, number 31, was removed from GGUF");
  refuses("-1", "type: -1 is no type of GGUF");
  refuses("12 ", "type: \"12 \" is no type of GGUF");
  refuses("", "type: \"\" is no type of GGUF");
  refuses("99999999999999999999", "is no type of GGUF");
}

}  // namespace
}  // namespace dequant::gguf_scheme_test
