// ModelOpt weights: which elements share a scale, the roundings, code 8 of NVFP4, and what is
// refused.
#include "dequant/modelopt.h"

#include <gtest/gtest.h>

#include "dequant/scheme.h"
#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"

namespace dequant::modelopt_test {
namespace {

using namespace testing;
using enum Element;
using modelopt::Algorithm;

struct Weight {
  Algorithm algorithm = Algorithm::fp8;
  Type weight = {float8e4m3fn, {4, 6}};
  Type scale = {float32, {}};
  std::optional<Type> second = {};
  Element output = float32;
  int64_t group_size = 0;
  bool transposed = false;
};

Result<Plan> plan_of(const Weight& w) {
  modelopt::Dequantize node{w.algorithm,
                            {w.weight.element, w.weight.shape},
                            {w.scale.element, w.scale.shape},
                            {},
                            w.output,
                            w.group_size,
                            w.transposed};
  if (w.second) node.weight_scale_2 = {w.second->element, w.second->shape};
  return modelopt::dequantize(node);
}

constexpr Rejects<Weight> rejects;

/// The results as codes of the output.
std::vector<uint32_t> results(const Weight& w, const Bytes& x, const Bytes& scale,
                              const Bytes& second = {}) {
  const auto plan = plan_of(w);
  EXPECT_TRUE(succeeds(plan));
  if (!plan) return {};
  std::vector<uint32_t> table;
  for (const float value : modelopt::kNvfp4Values) table.push_back(bits_of(value));
  const Bytes codebook = pack(float32, table);
  const int64_t count = element_count(*plan);
  Bytes y(bytes_for(w.output, count));
  Buffers buffers{x, scale, {}, y};
  buffers.tensor_scale = second;
  if (plan->parameters.codebook) buffers.codebook = codebook;
  EXPECT_TRUE(succeeds(run(*plan, buffers)));
  std::vector<uint32_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(code_at(w.output, y, i));
  return out;
}

/// The scale of each element: every weight is 1, and scale i is i + 1.
std::vector<float> scales_of(const Weight& w, int64_t scales) {
  std::vector<uint32_t> codes;
  for (int64_t i = 0; i < scales; ++i) codes.push_back(bits_of(static_cast<float>(i + 1)));
  const auto plan = plan_of(w);
  EXPECT_TRUE(succeeds(plan));
  if (!plan) return {};
  const Bytes x(static_cast<size_t>(element_count(*plan)),
                w.weight.element == int8 ? std::byte{1} : std::byte{0x38});
  std::vector<float> out;
  for (const uint32_t bits : results(w, x, pack(float32, codes))) out.push_back(float_of(bits));
  return out;
}

TEST(ModelOpt, TheAlgorithmSaysWhichElementsShareAScale) {
  for (const Fixed& one : {Fixed{}, Fixed{1}}) {
    EXPECT_EQ(scales_of({.scale = {float32, one}}, 1), std::vector<float>(24, 1));
  }
  const std::vector<float> rows{1, 1, 2, 2, 3, 3};
  EXPECT_EQ(scales_of({.algorithm = Algorithm::fp8_per_channel_per_token,
                       .weight = {float8e4m3fn, {3, 2}},
                       .scale = {float32, {3}}},
                      3),
            rows);
  EXPECT_EQ(scales_of({.algorithm = Algorithm::w8a8_sq_per_channel,
                       .weight = {int8, {3, 2}},
                       .scale = {float32, {3}}},
                      3),
            rows);
}

TEST(ModelOpt, StackedExpertsHaveScalesOfEachOrOfRowsOrOfColumns) {
  const auto of_experts = [](const Fixed& scale) {
    return Weight{.algorithm = Algorithm::fp8_per_channel_per_token,
                  .weight = {float8e4m3fn, {2, 3, 2}},
                  .scale = {float32, scale}};
  };
  EXPECT_EQ(scales_of(of_experts({2}), 2),
            (std::vector<float>{1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(scales_of(of_experts({2, 3}), 6),
            (std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
  EXPECT_EQ(scales_of(of_experts({2, 2}), 4),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
  EXPECT_TRUE(fails(plan_of({.algorithm = Algorithm::fp8_per_channel_per_token,
                             .weight = {float8e4m3fn, {2, 3, 3}},
                             .scale = {float32, {2, 3}}}),
                    ErrorCode::unsupported, "as many rows as columns"));
}

TEST(ModelOpt, BlocksHave128RowsAnd128ColumnsAndTheLastMayBeShort) {
  for (const Fixed& grid : {Fixed{2, 2}, Fixed{2, 1, 2, 1}}) {
    const auto scales = scales_of({.algorithm = Algorithm::fp8_pb_wo,
                                   .weight = {float8e4m3fn, {130, 131}},
                                   .scale = {float32, grid}},
                                  4);
    ASSERT_EQ(scales.size(), 130U * 131U);
    for (size_t i = 0; i < scales.size(); ++i) {
      const size_t block = i / 131 / 128 * 2 + i % 131 / 128;
      ASSERT_EQ(scales[i], static_cast<float>(block + 1)) << i;
    }
  }
}

TEST(ModelOpt, TheScaleOfASingleBlockHasNoDimensions) {
  for (const Fixed& grid : {Fixed{}, Fixed{1, 1}, Fixed{1, 1, 1, 1}}) {
    const auto scales = scales_of({.algorithm = Algorithm::fp8_pb_wo,
                                   .weight = {float8e4m3fn, {64, 128}},
                                   .scale = {float32, grid}},
                                  1);
    EXPECT_EQ(scales, std::vector<float>(64 * 128, 1));
  }
}

// The scale 1 + 2^-8 is halfway between two bfloat16, and becomes 1; 3 times the scale
// is 3.01171875, which would become 3.015625.
TEST(ModelOpt, ScalesAreRoundedToTheOutput) {
  const Bytes scale = pack(float32, {0x3F808000});
  const Weight w{.algorithm = Algorithm::w8a8_sq_per_channel,
                 .weight = {int8, {1, 1}},
                 .scale = {float32, {1}}};
  Weight narrow = w;
  narrow.output = bfloat16;
  EXPECT_EQ(results(narrow, {std::byte{3}}, scale), std::vector<uint32_t>{0x4040});
  narrow.output = float16;
  EXPECT_EQ(results(narrow, {std::byte{3}}, scale), std::vector<uint32_t>{0x4206});
  EXPECT_EQ(results(w, {std::byte{3}}, scale), std::vector<uint32_t>{bits_of(3.01171875F)});
}

Weight nvfp4() {
  return {.algorithm = Algorithm::nvfp4,
          .weight = {uint8, {1, 16}},
          .scale = {float8e4m3fn, {1, 2}},
          .second = Type{float32, {}}};
}

TEST(ModelOpt, Nvfp4HasTwoScalesAndOneZero) {
  Bytes x;
  for (int i = 0; i < 16; ++i)
    x.push_back(std::byte(static_cast<unsigned>((2 * i + 1) % 16 << 4 | 2 * i % 16)));
  const auto y =
      results(nvfp4(), x, pack(float8e4m3fn, {0x38, 0x40}), pack(float32, {bits_of(0.5F)}));
  ASSERT_EQ(y.size(), 32U);
  const float magnitudes[]{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  for (size_t i = 0; i < 32; ++i) {
    const float scale = i < 16 ? 0.5F : 1;
    const float value = magnitudes[i % 8] * scale;
    const bool negative = i % 16 > 8;  // code 8 is +0
    EXPECT_EQ(y[i], bits_of(negative ? -value : value)) << i;
  }
}

TEST(ModelOpt, MxScalesArePowersOfTwo) {
  const auto mxfp4 =
      results({.algorithm = Algorithm::mxfp4, .weight = {uint8, {1, 16}}, .scale = {uint8, {1, 1}}},
              Bytes(16, std::byte{0x72}), {std::byte{128}});
  ASSERT_EQ(mxfp4.size(), 32U);
  EXPECT_EQ(float_of(mxfp4[0]), 2);
  EXPECT_EQ(float_of(mxfp4[1]), 12);
  const auto mxfp8 = results({.algorithm = Algorithm::mxfp8,
                              .weight = {float8e4m3fn, {1, 32}},
                              .scale = {float8e8m0, {1, 1}}},
                             Bytes(32, std::byte{0x38}), {std::byte{126}});
  EXPECT_EQ(mxfp8, std::vector<uint32_t>(32, bits_of(0.5F)));
}

/// Two matrices of four rows, each of two groups of three columns.
Weight pairs() {
  return {.algorithm = Algorithm::w4a16_awq,
          .weight = {uint8, {2, 2, 6}},
          .scale = {float32, {2, 4, 2}}};
}

TEST(ModelOpt, BytesOfInt4HaveCodesOfTwoRows) {
  Bytes x;
  std::vector<uint32_t> scales;
  for (int i = 0; i < 24; ++i) x.push_back(std::byte((5 * i & 15) | ((3 * i + 1) & 15) << 4));
  for (int i = 0; i < 16; ++i) scales.push_back(bits_of(1 + 0.125F * static_cast<float>(i)));
  const auto y = results(pairs(), x, pack(float32, scales));
  ASSERT_EQ(y.size(), 48U);
  for (int i = 0; i < 48; ++i) {
    const int row = i / 6, column = i % 6, byte = row / 2 * 6 + column;
    const int code = (row % 2 == 0 ? 5 * byte : 3 * byte + 1) & 15;
    const float scale = 1 + 0.125F * static_cast<float>(2 * row + column / 3);
    EXPECT_EQ(float_of(y[static_cast<size_t>(i)]), static_cast<float>((code ^ 8) - 8) * scale) << i;
  }
}

// 3 * (1 + 2^-9) is 3.005859375, which becomes 3. A scale rounded first would be 1, with 3 too; of
// 5 * (1 + 2^-8 + 2^-9) the product becomes 5.03125, and with a rounded scale 5.0625.
TEST(ModelOpt, ScalesOfInt4AreNotRounded) {
  Weight w{.algorithm = Algorithm::w4a16_awq,
           .weight = {uint8, {1, 1}},
           .scale = {float32, {2, 1}},
           .output = bfloat16};
  const auto y = results(w, {std::byte{0x53}},
                         pack(float32, {bits_of(1 + 0x1p-9F), bits_of(1 + 0x1p-8F + 0x1p-9F)}));
  EXPECT_EQ(y, (std::vector<uint32_t>{bits_of(3) >> 16, bits_of(5.03125F) >> 16}));
}

TEST(ModelOpt, GroupsOfInt4HaveTheSameLength) {
  Weight w = pairs();
  w.group_size = 3;
  EXPECT_TRUE(succeeds(plan_of(w)));
  w.group_size = 2;
  rejects("another group", w, "so 3 inputs share a scale, and group_size is 2");
  w.group_size = -1;
  rejects("a negative group", w, "group_size: -1 is negative");
  w = pairs();
  for (const Fixed& shape :
       {Fixed{2, 4, 4}, Fixed{2, 4, 0}, Fixed{2, 2, 2}, Fixed{4, 2}, Fixed{}}) {
    w.scale.shape = shape;
    rejects("scales", w, "where the dense weight, [2, 4, 6], has scales for each row");
  }
  w = pairs();
  w.weight.element = int8;
  rejects("signed bytes", w, "weight: element type int8 is not uint8");
  w = pairs();
  w.scale.element = bfloat16;
  rejects("narrow scales", w, "weight_scale: element type bfloat16");
  w = pairs();
  w.second = Type{float32, {}};
  rejects("a second scale", w, "weight_scale_2: only");
  w = pairs();
  w.weight.shape = {6};
  rejects("no matrix", w, "weight: shape [6]");
  w.weight.shape = {int64_t{1} << 61, 1};
  rejects("too many outputs", w, "weight: shape [2305843009213693952, 1]");
  rejects("a group of others", {.group_size = 3}, "group_size: only weights of W4A16_AWQ");
  w = pairs();
  w.weight.shape = {2, 2, 0};
  w.scale.shape = {2, 4, 1};
  EXPECT_TRUE(succeeds(plan_of(w)));
}

/// Two matrices of 32 rows and three columns.
Weight columns() {
  return {.algorithm = Algorithm::nvfp4,
          .weight = {uint8, {2, 16, 3}},
          .scale = {float8e4m3fn, {2, 2, 3}},
          .second = Type{float32, {}},
          .transposed = true};
}

TEST(ModelOpt, BytesOfTransposedNvfp4HaveCodesOfTwoRowsAndBlocksOfAColumn) {
  Bytes x;
  Bytes scales;
  for (int i = 0; i < 96; ++i) x.push_back(std::byte((5 * i & 15) | ((3 * i + 1) & 15) << 4));
  for (int i = 0; i < 12; ++i) scales.push_back(std::byte(0x38 + i));  // 1, 1.125, ...
  const auto y = results(columns(), x, scales, pack(float32, {bits_of(4)}));
  ASSERT_EQ(y.size(), 192U);
  for (int i = 0; i < 192; ++i) {
    const int row = i / 3, column = i % 3, byte = row / 2 * 3 + column;
    const int code = (row % 2 == 0 ? 5 * byte : 3 * byte + 1) & 15;
    const int block = row / 16 * 3 + column;
    const float scale = block < 8 ? 1 + 0.125F * static_cast<float>(block)
                                  : 2 + 0.25F * static_cast<float>(block - 8);
    EXPECT_EQ(float_of(y[static_cast<size_t>(i)]),
              modelopt::kNvfp4Values[static_cast<size_t>(code)] * scale * 4)
        << i;
  }
}

TEST(ModelOpt, ScalesOfTransposedNvfp4AreThoseOfSixteenRows) {
  for (const Fixed& shape :
       {Fixed{2, 3, 2}, Fixed{2, 1, 3}, Fixed{1, 2, 3}, Fixed{4, 3}, Fixed{}}) {
    Weight w = columns();
    w.scale.shape = shape;
    rejects("scales", w, "where the dense weight, [2, 32, 3], has scales for each 16 rows");
  }
  Weight w = columns();
  w.weight.shape = {2, 20, 3};
  rejects("a short block", w, "[2, 40, 3], has scales for each 16 rows");
  w = columns();
  w.weight.element = int8;
  rejects("signed bytes", w, "weight: element type int8 is not uint8");
  w = columns();
  w.second.reset();
  rejects("no second scale", w, "weight_scale_2: weights of NVFP4 need one");
  w = columns();
  w.scale.element = float32;
  rejects("wide scales", w, "weight_scale: element type float32 is not float8e4m3fn");
  for (const Algorithm other : {Algorithm::fp8, Algorithm::mxfp4, Algorithm::w4a16_awq})
    rejects("another layout", {.algorithm = other, .transposed = true}, "transposed: only weights");
  w = columns();
  w.weight.shape = {2, 16, 0};
  w.scale.shape = {2, 2, 0};
  EXPECT_TRUE(succeeds(plan_of(w)));
}

TEST(ModelOpt, TypesAreThoseOfTheAlgorithm) {
  rejects("int8", {.weight = {int8, {4, 6}}}, "weight: element type int8 is not float8e4m3fn");
  rejects("fp8 for int8", {.algorithm = Algorithm::w8a8_sq_per_channel, .scale = {float32, {4}}},
          "weight: element type float8e4m3fn is not int8");
  rejects("narrow scales", {.scale = {bfloat16, {}}}, "weight_scale: element type bfloat16");
  rejects("a second scale", {.second = Type{float32, {}}}, "weight_scale_2: only");
  rejects("an integer output", {.output = int8}, "output");
  Weight w = nvfp4();
  w.scale.element = uint8;
  rejects("bytes", w, "weight_scale: element type uint8 is not float8e4m3fn");
  w = nvfp4();
  w.second.reset();
  rejects("one scale", w, "weight_scale_2: weights of NVFP4 need one");
  w.second = Type{float32, {2}};
  rejects("two second scales", w, "weight_scale_2: float32[2]");
  w = {.algorithm = Algorithm::mxfp4, .weight = {uint8, {1, 16}}, .scale = {float8e4m3fn, {1, 1}}};
  rejects("scales that are no powers", w, "weight_scale: element type float8e4m3fn");
  w.scale.element = uint8;
  w.second = Type{float32, {}};
  rejects("a second scale of mx", w, "weight_scale_2: only");
}

TEST(ModelOpt, ScalesHaveTheShapeThatTheAlgorithmDemands) {
  rejects("fp8", {.scale = {float32, {4}}}, "FP8 has one scale");
  EXPECT_TRUE(succeeds(plan_of({.weight = {float8e4m3fn, {2, 2, 2}}})));
  const Algorithm rows = Algorithm::fp8_per_channel_per_token;
  rejects("columns", {.algorithm = rows, .scale = {float32, {6}}}, "4 rows have a scale each");
  rejects("a column", {.algorithm = rows, .scale = {float32, {4, 1}}},
          "weight_scale: shape [4, 1]");
  rejects("a vector", {.algorithm = rows, .weight = {float8e4m3fn, {4}}, .scale = {float32, {4}}},
          "is not that of a matrix");
  const Algorithm blocks = Algorithm::fp8_pb_wo;
  rejects("blocks", {.algorithm = blocks, .scale = {float32, {2, 1}}}, "dimension 0 is 2");
  rejects("one for two blocks",
          {.algorithm = blocks, .weight = {float8e4m3fn, {129, 1}}, .scale = {float32, {}}},
          "dimension 0 is 1");
  rejects("rank", {.algorithm = blocks, .scale = {float32, {1, 1, 1}}}, "is neither [rows");
  rejects("rank 4", {.algorithm = blocks, .scale = {float32, {1, 2, 1, 1}}}, "is neither [rows");
  Weight w = nvfp4();
  w.scale.shape = {1, 1};
  rejects("groups of 32", w, "weight_scale: dimension 1 is 1");
}

TEST(ModelOpt, TheSchemeOfNvfp4HasTheValuesOfItsCodes) {
  constexpr std::array<int64_t, 2> kCodes{1, 16};
  constexpr std::array<int64_t, 2> kScales{1, 2};
  const std::array tensors{SchemeTensor{"weight", {uint8, kCodes}},
                           SchemeTensor{"weight_scale", {float8e4m3fn, kScales}},
                           SchemeTensor{"weight_scale_2", {float32, {}}}};
  const auto dense = plan_scheme({"modelopt", tensors});
  ASSERT_TRUE(succeeds(dense));
  EXPECT_EQ(dense->codebook, std::nullopt);
  EXPECT_TRUE(std::ranges::equal(dense->values, modelopt::kNvfp4Values));
  EXPECT_EQ(dense->shape, (std::vector<int64_t>{1, 32}));
}

}  // namespace
}  // namespace dequant::modelopt_test
