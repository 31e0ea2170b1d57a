// Plans of layouts that checkpoints have, built by hand, on checkpoints that their producers' own
// code wrote: the floats are those that the producers' own dequantizers give. NaN is compared as a
// class.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "support/checkpoint.h"

namespace dequant::checkpoint_goldens_test {
namespace {

using testing::Bytes;
using testing::CheckpointGoldens;
using testing::expect_golden;
using testing::Folder;
using testing::grouped;
using testing::Zeros;
using enum Element;

TEST_F(CheckpointGoldens, Fp8InBlocksOf128WithShortLastOnes) {
  const Folder model("fp8_block_128x128", "model");
  const Folder wide("fp8_block_128x128", "expected_f32");
  const Folder narrow("fp8_block_128x128", "expected.");
  struct Case {
    const char* name;
    int64_t rows, columns;
  };
  for (const Case& c :
       {Case{"self_attn.kv_a_proj_with_mqa", 576, 136}, Case{"mlp.up_proj", 130, 256},
        Case{"mlp.down_proj", 256, 200}, Case{"mlp.shared_experts.gate_proj", 64, 96},
        Case{"self_attn.q_a_proj", 256, 128}}) {
    const std::string name = "model.layers.0." + std::string(c.name) + ".weight";
    const Bytes x = model[name];
    const Bytes scale = model[name + "_scale_inv"];
    const int64_t grid = (c.columns + 127) / 128;
    const std::vector<Dimension> d{
        {.size = c.rows, .x = c.columns, .scale = grid, .y = c.columns, .block = 128},
        {.size = c.columns, .x = 1, .scale = 1, .y = 1, .block = 128}};
    Plan plan{.input = float8e4m3fn};
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, d, c.columns, {x, scale, {}, {}}, wide[name]));
    plan.output = bfloat16;
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, d, c.columns, {x, scale, {}, {}}, narrow[name]));
  }
}

TEST_F(CheckpointGoldens, Nvfp4OfCompressedTensorsIsDividedByTheGlobalScale) {
  const Folder model("ct_nvfp4", "model");
  const Folder want("ct_nvfp4", "expected.");
  Plan plan{.input = float4e2m1, .scale = float8e4m3fn, .output = bfloat16};
  plan.parameters.tensor_scale = TensorScale::divide;
  for (const auto& [name, rows, columns] :
       {std::tuple{"mlp.down_proj", 128, 128}, std::tuple{"self_attn.o_proj", 128, 64}}) {
    const std::string module = "model.layers.0." + std::string(name);
    const Bytes x = model[module + ".weight_packed"];
    const Bytes scale = model[module + ".weight_scale"];
    const Bytes global = model[module + ".weight_global_scale"];
    const Buffers buffers{
        .x = x, .scale = scale, .zero_point = {}, .y = {}, .tensor_scale = global};
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, grouped(rows, columns, 16), columns, buffers,
                                          want[module + ".weight"]));
  }
}

// ModelOpt's table of values has +0 for code 8, where OCP's float4e2m1 has -0.
TEST_F(CheckpointGoldens, Nvfp4OfModelOptIsMultipliedByTheSecondScale) {
  const Folder model("modelopt_nvfp4", "model");
  const Folder want("modelopt_nvfp4", "expected_f32");
  Plan plan{.input = float4e2m1, .scale = float8e4m3fn};
  plan.parameters.tensor_scale = TensorScale::multiply;
  for (const auto& [name, rows, columns] :
       {std::tuple{"mlp.down_proj", 128, 96}, std::tuple{"self_attn.q_proj", 64, 128}}) {
    const std::string module = "model.layers.0." + std::string(name);
    const Bytes x = model[module + ".weight"];
    const Bytes scale = model[module + ".weight_scale"];
    const Bytes second = model[module + ".weight_scale_2"];
    const Buffers buffers{
        .x = x, .scale = scale, .zero_point = {}, .y = {}, .tensor_scale = second};
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, grouped(rows, columns, 16), columns, buffers,
                                          want[module + ".weight"], Zeros::alike));
  }
}

TEST_F(CheckpointGoldens, Mxfp4HasScalesOfExponents) {
  const Folder model("ct_mxfp4a16", "model");
  const Folder want("ct_mxfp4a16", "expected.");
  Plan plan{.input = float4e2m1, .scale = float8e8m0, .output = bfloat16};
  plan.parameters.infinite_e8m0 = true;
  const std::string module = "model.layers.0.mlp.up_proj";
  const Bytes x = model[module + ".weight_packed"];
  const Bytes scale = model[module + ".weight_scale"];
  expect_golden(plan, grouped(128, 128, 32), 128, {x, scale, {}, {}}, want[module + ".weight"]);
}

TEST_F(CheckpointGoldens, IntegersOfCompressedTensorsHaveZeroPointsPackedAlongTheRows) {
  const Folder model("ct_w4a16_g32_asym_f32", "model");
  const Folder want("ct_w4a16_g32_asym_f32", "expected_f32");
  const Plan plan{.input = uint4, .has_zero_point = true};
  const std::string module = "model.layers.0.mlp.down_proj";
  const Bytes x = model[module + ".weight_packed"];
  const Bytes scale = model[module + ".weight_scale"];
  const Bytes zero = model[module + ".weight_zero_point"];
  const std::vector<Dimension> d{
      {.size = 16, .x = 8 * 128, .scale = 8 * 4, .zero_point = 8 * 4, .y = 8 * 128},
      {.size = 8, .x = 128, .scale = 4, .zero_point = 1, .y = 128},
      {.size = 128, .x = 1, .scale = 1, .zero_point = 8, .y = 1, .block = 32}};
  expect_golden(plan, d, 128, {x, scale, zero, {}}, want[module + ".weight"]);
}

/// [64, 128] of words along the columns, stored column by column, and an index of four groups.
void expect_gptq(const std::string& folder, Element x, ZeroPointOverflow overflow) {
  const Folder model(folder, "model");
  const std::string module = "model.layers.0.self_attn.q_proj";
  const Bytes codes = model[module + ".qweight"];
  const Bytes scale = model[module + ".scales"];
  const Bytes zero = model[module + ".qzeros"];
  const Bytes index = model[module + ".g_idx"];
  const int64_t word = 32 / bits(x);
  const std::vector<Dimension> d{
      {.size = 64, .x = word, .scale = 1, .zero_point = 1, .y = 128},
      {.size = 128 / word, .x = word * 64, .y = word, .group_index = word},
      {.size = word, .x = 1, .y = 1, .group_index = 1}};
  Plan plan{.input = x, .scale = float16, .has_zero_point = true};
  plan.parameters.zero_point_offset = 1;
  plan.parameters.zero_point_overflow = overflow;
  plan.parameters.group_index = {.groups = 4, .scale = 64, .zero_point = 64};
  const Buffers buffers{
      .x = codes, .scale = scale, .zero_point = zero, .y = {}, .group_index = index};
  for (const auto& [output, file] : {std::pair{float32, "expected_f32"},
                                     {bfloat16, "expected."},
                                     {float16, "expected_module_f16"}}) {
    plan.output = output;
    const Bytes want = Folder(folder, file)[module + ".weight"];
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, d, 128, buffers, want));
  }
}

TEST_F(CheckpointGoldens, GptqHasAnIndexOfGroupsAndZeroPointsLessOne) {
  using enum ZeroPointOverflow;
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w4_asym_actorder", uint4, carry));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w8_asym_actorder", uint8, carry));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w2_asym_actorder", uint2, carry));
}

TEST_F(CheckpointGoldens, GptqZeroPointsOfAllOnesBorrowFromTheNext) {
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w4_zero0_borrow", uint4, ZeroPointOverflow::carry));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w2_zero0_borrow", uint2, ZeroPointOverflow::carry));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w8_zero0_borrow", uint8, ZeroPointOverflow::carry));
}

TEST_F(CheckpointGoldens, AwqHasInterleavedCodesAndZeroPoints) {
  const Folder model("awq_gemm_g32", "model");
  const Folder wide("awq_gemm_g32", "expected_f32");
  const Folder narrow("awq_gemm_g32", "expected.");
  for (const auto& [name, out, in] : {std::tuple{"self_attn.q_proj", int64_t{64}, int64_t{128}},
                                      std::tuple{"mlp.down_proj", int64_t{96}, int64_t{64}}}) {
    const std::string module = "model.layers.0." + std::string(name);
    const Bytes x = model[module + ".qweight"];
    const Bytes scale = model[module + ".scales"];
    const Bytes zero = model[module + ".qzeros"];
    // Field n of a word is column 2 * (n % 4) + n / 4 of eight.
    const std::vector<Dimension> d{
        {.size = out / 8, .x = 8, .scale = 8, .zero_point = 8, .y = 8 * in},
        {.size = 4, .x = 1, .scale = 2, .zero_point = 1, .y = 2 * in},
        {.size = 2, .x = 4, .scale = 1, .zero_point = 4, .y = in},
        {.size = in, .x = out, .scale = out, .zero_point = out, .y = 1, .block = 32}};
    Plan plan{.input = uint4, .scale = float16, .has_zero_point = true};
    const Buffers buffers{x, scale, zero, {}};
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, d, in, buffers, wide[module + ".weight"]));
    plan.output = float16;
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, d, in, buffers, narrow[module + ".weight"]));
  }
}

TEST_F(CheckpointGoldens, HqqHasZeroPointsThatAreFractionsInFloat16) {
  const std::string module = "model.layers.0.self_attn.q_proj";
  Plan plan{.input = uint8, .scale = float16, .output = float16, .has_zero_point = true};
  plan.parameters.zero_point = float16;
  const auto expect = [&](const std::string& folder, const std::vector<Dimension>& d) {
    const Folder model(folder, "model");
    const Bytes x = model[module + ".W_q"];
    const Bytes scale = model[module + ".scale"];
    const Bytes zero = model[module + ".zero"];
    const Bytes want = Folder(folder, "expected.")[module + ".weight"];
    expect_golden(plan, d, 128, {x, scale, zero, {}}, want);
  };
  expect("hqq_w8_g64_axis1", {{.size = 128, .x = 64, .scale = 1, .zero_point = 1, .y = 64},
                              {.size = 64, .x = 1, .y = 1}});
  // Half of the groups is in the upper four bits of each byte, the other in the lower ones.
  plan.input = uint4;
  expect("hqq_w4_g64_axis1", {{.size = 2, .x = -1, .scale = 64, .zero_point = 64, .y = 64 * 64},
                              {.size = 64, .x = 128, .scale = 1, .zero_point = 1, .y = 64},
                              {.size = 64, .x = 2, .y = 1}});
}

}  // namespace
}  // namespace dequant::checkpoint_goldens_test
