// Transposes of what schemes store: the elements of the plan that is not transposed, in the other
// order, whatever the layout of codes and the form of groups and blocks.
#include "dialect/transposed.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "dequant/scheme.h"
#include "node.h"
#include "support/expect_error.h"
#include "support/float_bits.h"
#include "support/packed.h"
#include "support/random.h"

namespace dequant::transposed_test {
namespace {

using namespace testing;
using enum Element;

struct Tensor {
  std::string_view name;
  Type type;
};

struct Case {
  std::string_view scheme;
  std::vector<Tensor> tensors;
  std::vector<SchemeOption> options = {};
};

Result<SchemePlan> plan_of(const Case& c, bool transposed) {
  std::vector<SchemeTensor> tensors;
  for (const Tensor& t : c.tensors) tensors.push_back({t.name, {t.type.element, t.type.shape}});
  return plan_scheme({c.scheme, tensors, c.options, float32, transposed});
}

/// Inputs for a plan, and for every other plan of the same stored tensors.
struct Data {
  Bytes x, scale, zero_point, group_index, codebook;

  explicit Data(const Plan& plan) {
    Random random(7);
    const Extents all = extents(plan);
    const auto fill = [&](Bytes& bytes, int64_t count) {
      bytes.resize(static_cast<size_t>(count));
      for (std::byte& b : bytes) b = static_cast<std::byte>(random.bits());
    };
    fill(x, x_bytes_of(plan, {0, all.x}).end);
    fill(zero_point, zero_point_bytes_of(plan, {0, all.zero_point}).end);
    std::vector<uint32_t> scales(static_cast<size_t>(all.scale));
    for (size_t i = 0; i < scales.size(); ++i) scales[i] = bits_of(static_cast<float>(i + 1));
    scale = plan.scale == float32 ? pack(float32, scales) : Bytes();
    if (plan.scale != float32) fill(scale, all.scale);
    std::vector<uint32_t> groups(static_cast<size_t>(all.group_index));
    for (uint32_t& group : groups)
      group = static_cast<uint32_t>(random.in(0, plan.parameters.group_index.groups - 1));
    group_index = pack(int32, groups);
    std::vector<uint32_t> values(static_cast<size_t>(all.codebook));
    for (size_t i = 0; i < values.size(); ++i) values[i] = bits_of(static_cast<float>(i) - 5.5F);
    codebook = pack(float32, values);
  }

  std::vector<uint32_t> floats(const Plan& plan) const {
    const int64_t count = element_count(plan);
    Bytes y(bytes_for(float32, count));
    Buffers buffers{x, scale, zero_point, y};
    buffers.group_index = group_index;
    buffers.codebook = codebook;
    EXPECT_TRUE(succeeds(run(plan, buffers)));
    std::vector<uint32_t> out;
    for (int64_t i = 0; i < count; ++i) out.push_back(code_at(float32, y, i));
    return out;
  }
};

void expect_transpose(const Case& c) {
  SCOPED_TRACE(c.scheme);
  const auto plain = plan_of(c, false);
  const auto transposed = plan_of(c, true);
  ASSERT_TRUE(succeeds(plain));
  ASSERT_TRUE(succeeds(transposed));
  ASSERT_EQ(plain->shape.size(), 2U);
  const int64_t rows = plain->shape[0];
  const int64_t columns = plain->shape[1];
  EXPECT_EQ(transposed->shape, (std::vector<int64_t>{columns, rows}));
  const Data data(plain->plan);
  const auto a = data.floats(plain->plan);
  const auto b = data.floats(transposed->plan);
  ASSERT_EQ(a.size(), static_cast<size_t>(rows * columns));
  ASSERT_EQ(b.size(), a.size());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < columns; ++i) {
      ASSERT_EQ(b[static_cast<size_t>(i * rows + r)], a[static_cast<size_t>(r * columns + i)])
          << r << " " << i;
    }
  }
}

Case nf4(std::string_view shape, int64_t elements, std::string_view blocksize, int64_t blocks) {
  return {"bitsandbytes",
          {{"weight", {uint8, {elements / 2, 1}}},
           {"absmax", {float32, {blocks}}},
           {"quant_map", {float32, {16}}}},
          {{"shape", shape}, {"blocksize", blocksize}}};
}

TEST(TransposedPlan, HasTheElementsOfWeightsOfLinearLayersInTheOtherOrder) {
  expect_transpose({"bitsandbytes_int8", {{"weight", {int8, {5, 12}}}, {"SCB", {float32, {5}}}}});
  expect_transpose(nf4("6,128", 768, "64", 12));
  expect_transpose(nf4("6,64", 384, "64", 6));
  expect_transpose(nf4("8,16", 128, "64", 2));   // a block has whole rows
  expect_transpose(nf4("6,32", 192, "128", 2));  // and the last one is short
  expect_transpose(
      {"gptq",
       {{"qweight", {int32, {8, 24}}}, {"qzeros", {int32, {2, 3}}}, {"scales", {float32, {2, 24}}}},
       {{"bits", "4"}, {"group_size", "32"}}});
  expect_transpose({"gptq",
                    {{"qweight", {int32, {6, 32}}},
                     {"qzeros", {int32, {2, 3}}},
                     {"scales", {float32, {2, 32}}},
                     {"g_idx", {int32, {64}}}},
                    {{"bits", "3"}, {"group_size", "32"}}});
  expect_transpose(
      {"awq",
       {{"qweight", {int32, {64, 3}}}, {"qzeros", {int32, {2, 3}}}, {"scales", {float32, {2, 24}}}},
       {{"group_size", "32"}}});
}

TEST(TransposedPlan, TakesBlocksOfRowsAndOneScaleAsWell) {
  expect_transpose({"fp8", {{"weight", {float8e4m3fn, {7, 12}}}, {"weight_scale", {float32, {}}}}});
  expect_transpose({"fp8",
                    {{"weight", {float8e4m3fn, {7, 12}}}, {"weight_scale", {float32, {3, 3}}}},
                    {{"block", "3,5"}}});
  expect_transpose({"mx", {{"weight", {float4e2m1, {3, 64}}}, {"scale", {float8e8m0, {3, 2}}}}});
}

TEST(TransposedPlan, LeavesASingleRowOrColumnAsItIs) {
  const Case row{"bitsandbytes_int8", {{"weight", {int8, {1, 12}}}, {"SCB", {float32, {1}}}}};
  expect_transpose(row);
  EXPECT_EQ(plan_of(row, true)->plan, plan_of(row, false)->plan);
  expect_transpose({"bitsandbytes_int8", {{"weight", {int8, {9, 1}}}, {"SCB", {float32, {9}}}}});
}

TEST(TransposedPlan, RefusesWhatIsNoMatrixAndBlocksThatCrossRows) {
  EXPECT_TRUE(is_invalid(
      plan_of({"fp8", {{"weight", {float8e5m2, {2, 3, 4}}}, {"weight_scale", {float32, {}}}}},
              true),
      "transposed: the dense tensor [2, 3, 4] is no matrix"));
  const auto crossing = plan_of(nf4("6,96", 576, "64", 9), true);
  ASSERT_FALSE(crossing);
  EXPECT_EQ(crossing.error().code, ErrorCode::unsupported);
  EXPECT_EQ(crossing.error().message,
            "transposed: elements that share a scale neither fill rows of 96 nor divide these");
}

}  // namespace
}  // namespace dequant::transposed_test
