// Checkpoints with codes in layouts of their own, and with roundings after the product: plans built
// by hand give the floats of the producers' own dequantizers, bit for bit.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "support/checkpoint.h"

namespace dequant::checkpoint_layouts_test {
namespace {

using testing::Bytes;
using testing::CheckpointGoldens;
using testing::expect_golden;
using testing::Folder;
using testing::grouped;
using enum Element;
using enum CodeOrder;

const std::string kLayer = "model.layers.0.";
const std::string kQuery = kLayer + "self_attn.q_proj";

/// [rows, columns] with a scale for each row.
std::vector<Dimension> per_row(int64_t rows, int64_t columns) {
  return {{.size = rows, .x = columns, .scale = 1, .zero_point = 1, .y = columns},
          {.size = columns, .x = 1, .y = 1}};
}

/// [rows, columns] in groups along the columns, with a zero point for each group.
std::vector<Dimension> grouped_with_zeros(int64_t rows, int64_t columns, int64_t group) {
  std::vector<Dimension> d = grouped(rows, columns, group);
  for (Dimension& one : d) one.zero_point = one.scale;
  return d;
}

TEST_F(CheckpointGoldens, CompressedTensorsComputesInTheTypeOfTheScales) {
  const Folder model("ct_w4a16_g32_sym_f16", "model");
  Plan plan{.input = uint4, .scale = float16, .output = bfloat16, .implicit_zero_point = 8};
  plan.parameters.result_rounding = float16;
  const std::string module = kLayer + "mlp.up_proj";
  const Bytes x = model[module + ".weight_packed"];
  const Bytes scale = model[module + ".weight_scale"];
  for (const auto& [output, file] : {std::pair{bfloat16, "expected."}, {float32, "expected_f32"}}) {
    plan.output = output;
    const Bytes want = Folder("ct_w4a16_g32_sym_f16", file)[module + ".weight"];
    ASSERT_NO_FATAL_FAILURE(
        expect_golden(plan, grouped(128, 128, 32), 128, {x, scale, {}, {}}, want));
  }
}

TEST_F(CheckpointGoldens, ModelOptRoundsScalesToTheTypeOfTheOutput) {
  const auto expect = [](const std::string& folder, Element x, std::vector<Dimension> d) {
    const Folder model(folder, "model");
    const std::string module = kLayer + "mlp.down_proj";
    const Bytes codes = model[module + ".weight"];
    const Bytes scale = model[module + ".weight_scale"];
    Plan plan{.input = x};
    const Buffers buffers{codes, scale, {}, {}};
    ASSERT_NO_FATAL_FAILURE(
        expect_golden(plan, d, 96, buffers, Folder(folder, "expected_f32")[module + ".weight"]));
    plan.output = bfloat16;
    plan.parameters.scale_rounding = bfloat16;
    ASSERT_NO_FATAL_FAILURE(
        expect_golden(plan, d, 96, buffers, Folder(folder, "expected.")[module + ".weight"]));
  };
  ASSERT_NO_FATAL_FAILURE(
      expect("modelopt_fp8", float8e4m3fn, {{.size = 128, .x = 96, .y = 96}, {96, 1, 0, 0, 1}}));
  ASSERT_NO_FATAL_FAILURE(expect("modelopt_fp8_pc_pt", float8e4m3fn, per_row(128, 96)));
  ASSERT_NO_FATAL_FAILURE(expect("modelopt_int8_sq", int8, per_row(128, 96)));
}

/// A matrix of MLX: [24, 256] codes in streams, a scale and a bias for each group.
void expect_mlx(const std::string& folder, const std::string& file, int layer, int bits,
                int64_t group, Plan plan) {
  const Folder model(folder, "model");
  const std::string module = "model.layers." + std::to_string(layer) + ".mlp.up_proj";
  const Bytes x = model[module + ".weight"];
  const Bytes scale = model[module + ".scales"];
  const Bytes bias = model[module + ".biases"];
  plan.input = uint8;
  plan.has_zero_point = true;
  plan.parameters.zero_point = plan.scale;
  plan.parameters.zero_point_role = ZeroPointRole::add_after;
  plan.parameters.x_packing = {.order = stream, .bits = bits, .row = 256};
  expect_golden(plan, grouped_with_zeros(24, 256, group), 256, {x, scale, bias, {}},
                Folder(folder, file)[module + ".weight"]);
}

TEST_F(CheckpointGoldens, MlxAddsABiasToTheRoundedProduct) {
  int layer = 0;
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    Plan plan{.scale = bfloat16, .output = bfloat16};
    ASSERT_NO_FATAL_FAILURE(
        expect_mlx("mlx_affine_bf16", "expected_f32", layer, bits, 64, Plan{.scale = bfloat16}));
    plan.parameters.result_rounding = bfloat16;
    ASSERT_NO_FATAL_FAILURE(expect_mlx("mlx_affine_bf16", "expected.", layer++, bits, 64, plan));
  }
  ASSERT_NO_FATAL_FAILURE(expect_mlx("mlx_affine_f32", "expected.", 0, 4, 64, {}));
  ASSERT_NO_FATAL_FAILURE(expect_mlx("mlx_affine_f32", "expected.", 1, 6, 32, {}));
  Plan plan{.scale = float16, .output = float16};
  plan.parameters.result_rounding = float16;
  ASSERT_NO_FATAL_FAILURE(expect_mlx("mlx_affine_f16_mixed", "expected.", 0, 4, 32, plan));
  ASSERT_NO_FATAL_FAILURE(expect_mlx("mlx_affine_f16_mixed", "expected.", 1, 8, 64, plan));
  ASSERT_NO_FATAL_FAILURE(expect_mlx("mlx_affine_f16_mixed", "expected.", 2, 3, 128, plan));
}

TEST_F(CheckpointGoldens, QuantoSubtractsAShiftFromTheRoundedProduct) {
  for (const auto& [folder, bits] : {std::pair{"quanto_qint4", 4}, {"quanto_qint2", 2}}) {
    const Folder model(folder, "model");
    const Bytes x = model["q_proj.weight._data._data"];
    const Bytes scale = model["q_proj.weight._scale"];
    const Bytes shift = model["q_proj.weight._shift"];
    Plan plan{.input = uint8, .scale = bfloat16, .output = bfloat16, .has_zero_point = true};
    plan.parameters.zero_point = bfloat16;
    plan.parameters.zero_point_role = ZeroPointRole::subtract_after;
    plan.parameters.result_rounding = bfloat16;
    plan.parameters.x_packing = {.order = slabs, .bits = bits, .columns = 64 * 128 * bits / 8};
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, per_row(64, 128), 128, {x, scale, shift, {}},
                                          Folder(folder, "expected.")["q_proj.weight"]));
  }
}

TEST_F(CheckpointGoldens, BitsandbytesMultipliesInt8ByTwoFactors) {
  const Folder model("bnb_int8", "model");
  const Folder want("bnb_int8", "expected.");
  Plan plan{.input = int8};
  plan.parameters.result_factor = 0.007874015718698502F;
  for (const auto& [name, rows, columns] :
       {std::tuple{"self_attn.q_proj", 64, 128}, {"mlp.down_proj", 48, 80}}) {
    const std::string module = kLayer + name;
    const Bytes x = model[module + ".weight"];
    const Bytes scale = model[module + ".SCB"];
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, per_row(rows, columns), columns, {x, scale, {}, {}},
                                          want[module + ".weight"]));
  }
}

/// `count` codes of bitsandbytes in blocks, as rows of `columns`.
void expect_codebook(const std::string& folder, const std::string& module, int64_t count,
                     int64_t columns, int64_t block, const Bytes& absmax,
                     std::vector<std::pair<Element, std::string>> outputs) {
  const Folder model(folder, "model");
  const std::string weight = kLayer + module + ".weight";
  const Bytes x = model[weight];
  Bytes codebook = model[weight + ".quant_map"];
  // The dequantizer takes the sign of fp4 from its highest bit, also where the stored table has +0.
  if (folder == "bnb_fp4") codebook[8 * sizeof(float) + 3] = std::byte{0x80};
  Plan plan{.input = uint8};
  plan.parameters.codebook = true;
  plan.parameters.x_packing = {.order = high_first, .bits = 4};
  const Buffers buffers{.x = x, .scale = absmax, .zero_point = {}, .y = {}, .codebook = codebook};
  for (const auto& [output, file] : outputs) {
    plan.output = output;
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, {{count, 1, 1, 0, 1, block}}, columns, buffers,
                                          Folder(folder, file)[weight]));
  }
}

TEST_F(CheckpointGoldens, BitsandbytesLooksValuesUpInAStoredTable) {
  for (const auto& [folder, output] : {std::pair{"bnb_nf4", bfloat16}, {"bnb_fp4", float16}}) {
    for (const auto& [module, rows, columns] :
         {std::tuple{"self_attn.q_proj", 64, 128}, {"mlp.down_proj", 48, 80}}) {
      const Bytes absmax = Folder(folder, "model")[kLayer + module + ".weight.absmax"];
      ASSERT_NO_FATAL_FAILURE(expect_codebook(folder, module, rows * columns, columns, 64, absmax,
                                              {{float32, "expected_f32"}, {output, "expected."}}));
    }
  }
  const std::string folder = "bnb_nf4_bs128_f32";
  const Bytes absmax = Folder(folder, "model")[kQuery + ".weight.absmax"];
  ASSERT_NO_FATAL_FAILURE(expect_codebook(folder, "self_attn.q_proj", 8192, 128, 128, absmax,
                                          {{float32, "expected."}}));
}

/// The scales of doubly quantized blocks: a codebook of 256 values, and one float32 added.
Bytes nested_absmax(const std::string& folder, const std::string& module) {
  const Folder model(folder, "model");
  const std::string weight = kLayer + module + ".weight.";
  const Bytes codes = model[weight + "absmax"];
  const Bytes scale = model[weight + "nested_absmax"];
  const Bytes codebook = model[weight + "nested_quant_map"];
  const Bytes state = model[weight + "quant_state.bitsandbytes__nf4"];
  const std::string json(reinterpret_cast<const char*>(state.data()), state.size());
  const std::string key = "\"nested_offset\": ";
  const auto offset =
      static_cast<float>(std::strtod(json.c_str() + json.find(key) + key.size(), nullptr));
  Plan plan{.input = uint8, .has_zero_point = true};
  plan.parameters.zero_point = float32;
  plan.parameters.zero_point_role = ZeroPointRole::add_after;
  plan.parameters.codebook = true;
  const auto count = static_cast<int64_t>(codes.size());
  const auto made = strided_plan(plan, {{count, 1, 1, 0, 1, 256}});
  Bytes y(codes.size() * sizeof(float));
  const Buffers buffers{.x = codes,
                        .scale = scale,
                        .zero_point = std::as_bytes(std::span(&offset, 1)),
                        .y = y,
                        .codebook = codebook};
  EXPECT_TRUE(made && run(*made, buffers));
  return y;
}

TEST_F(CheckpointGoldens, BitsandbytesQuantizesScalesOnceMore) {
  for (const auto& [module, rows, columns] :
       {std::tuple{"self_attn.q_proj", 64, 128}, {"mlp.down_proj", 48, 80}}) {
    ASSERT_NO_FATAL_FAILURE(expect_codebook("bnb_nf4_double", module, rows * columns, columns, 64,
                                            nested_absmax("bnb_nf4_double", module),
                                            {{float32, "expected_f32"}, {bfloat16, "expected."}}));
  }
  // An odd number of codes, the last block short.
  ASSERT_NO_FATAL_FAILURE(
      expect_codebook("bnb_nf4_partial_block", "self_attn.q_proj", 115, 23, 64,
                      nested_absmax("bnb_nf4_partial_block", "self_attn.q_proj"),
                      {{float32, "expected_f32"}, {float16, "expected."}}));
}

/// [rows, columns] codes of compressed-tensors in groups, zero points packed along the rows.
void expect_pack_quantized(const std::string& folder, CodeOrder order, const std::string& name,
                           int bits, int64_t rows, int64_t columns, int64_t group, bool zeros) {
  const Folder model(folder, "model");
  const std::string module = kLayer + name;
  const int64_t groups = columns / group;
  const Bytes x = model[module + ".weight_packed"];
  const Bytes scale = model[module + ".weight_scale"];
  const Bytes zero = zeros ? model[module + ".weight_zero_point"] : Bytes{};
  Plan plan{.input = uint8, .scale = bfloat16, .output = bfloat16, .has_zero_point = zeros};
  if (!zeros) plan.implicit_zero_point = 1 << (bits - 1);
  plan.parameters.result_rounding = bfloat16;
  plan.parameters.x_packing = {.order = order, .bits = bits, .row = columns};
  if (zeros) {
    plan.parameters.zero_point_packing = {
        .order = order, .bits = bits, .row = rows, .columns = groups};
  }
  const std::vector<Dimension> d{
      {.size = rows, .x = columns, .scale = groups, .zero_point = 1, .y = columns},
      {.size = columns, .x = 1, .scale = 1, .zero_point = rows, .y = 1, .block = group}};
  expect_golden(plan, d, columns, {x, scale, zero, {}},
                Folder(folder, "expected.")[module + ".weight"]);
}

TEST_F(CheckpointGoldens, CompressedTensorsPacksCodesOfAnyWidth) {
  for (const auto& [folder, order] :
       {std::pair{"ct_oddbits_g32", stream}, {"ct017_oddbits_g32", words}}) {
    for (const auto& [name, bits, rows, columns, zeros] :
         {std::tuple{"self_attn.q_proj", 2, 64, 128, false},
          {"self_attn.k_proj", 3, 32, 128, false},
          {"self_attn.v_proj", 5, 32, 128, true},
          {"self_attn.o_proj", 6, 128, 64, false},
          {"mlp.gate_proj", 7, 128, 128, false},
          {"mlp.up_proj", 3, 128, 128, true},
          {"mlp.down_proj", 6, 128, 128, true}}) {
      ASSERT_NO_FATAL_FAILURE(
          expect_pack_quantized(folder, order, name, bits, rows, columns, 32, zeros))
          << folder << " " << name;
    }
  }
  // Rows that end within a word.
  for (const auto& [folder, order] :
       {std::pair{"ct_oddbits_channel_narrow", stream}, {"ct017_oddbits_channel_narrow", words}}) {
    ASSERT_NO_FATAL_FAILURE(
        expect_pack_quantized(folder, order, "self_attn.q_proj", 3, 104, 104, 104, true));
    ASSERT_NO_FATAL_FAILURE(
        expect_pack_quantized(folder, order, "self_attn.o_proj", 5, 104, 104, 104, true));
    ASSERT_NO_FATAL_FAILURE(
        expect_pack_quantized(folder, order, "mlp.down_proj", 6, 104, 88, 88, true));
  }
}

/// [64, 128] of GPTQ: words along the columns run down the rows of the stored matrix.
void expect_gptq(const std::string& folder, CodeOrder order, int bits, bool indexed,
                 int32_t offset) {
  const Folder model(folder, "model");
  const Bytes x = model[kQuery + ".qweight"];
  const Bytes scale = model[kQuery + ".scales"];
  const Bytes zero = model[kQuery + ".qzeros"];
  const Bytes index = indexed ? model[kQuery + ".g_idx"] : Bytes{};
  Plan plan{.input = uint8, .scale = float16, .has_zero_point = true};
  Parameters& p = plan.parameters;
  p.zero_point_offset = offset;
  p.zero_point_overflow = ZeroPointOverflow::wrap;
  p.x_packing = {.order = order, .bits = bits, .row = 128, .columns = 64};
  p.zero_point_packing = {.order = order, .bits = bits, .row = 64};
  std::vector<Dimension> d{{.size = 64, .x = 128, .scale = 1, .zero_point = 1, .y = 128},
                           {.size = 128, .x = 1, .y = 1}};
  if (indexed) {
    p.group_index = {.groups = 4, .scale = 64, .zero_point = 64};
    d[1].group_index = 1;
  } else {
    d[1].scale = d[1].zero_point = 64;
    d[1].block = 32;
  }
  const Buffers buffers{.x = x, .scale = scale, .zero_point = zero, .y = {}, .group_index = index};
  for (const auto& [output, file] : {std::pair{float32, "expected_f32"},
                                     {bfloat16, "expected."},
                                     {float16, "expected_module_f16"}}) {
    plan.output = output;
    const Bytes want = Folder(folder, file)[kQuery + ".weight"];
    ASSERT_NO_FATAL_FAILURE(expect_golden(plan, d, 128, buffers, want)) << folder;
  }
}

TEST_F(CheckpointGoldens, GptqPacksCodesDownTheColumns) {
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w3_g32_sym", stream, 3, false, 1));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w3_asym_actorder", stream, 3, true, 1));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v1_w3_zero0_borrow", stream, 3, true, 1));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v2_w3_g32_asym", stream, 3, false, 0));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v2_w2_g32_asym", stream, 2, false, 0));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v2_w4_g32_asym", stream, 4, false, 0));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_v2_w8_g32_asym", stream, 8, false, 0));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_p_w5_g32_asym", planes, 5, false, 0));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_p_w6_g32_asym", planes, 6, false, 0));
  ASSERT_NO_FATAL_FAILURE(expect_gptq("gptq_p_w7_g32_asym", planes, 7, false, 0));
}

TEST_F(CheckpointGoldens, HqqPacksCodesInSlabs) {
  const auto expect = [](const std::string& folder, int bits, int64_t words) {
    const Folder model(folder, "model");
    const Bytes x = model[kQuery + ".W_q"];
    const Bytes scale = model[kQuery + ".scale"];
    const Bytes zero = model[kQuery + ".zero"];
    Plan plan{.input = uint8, .scale = float16, .output = float16, .has_zero_point = true};
    plan.parameters.zero_point = float16;
    plan.parameters.x_packing = {.order = slabs_high_first, .bits = bits, .columns = words};
    expect_golden(plan, per_row(128, 64), 128, {x, scale, zero, {}},
                  Folder(folder, "expected.")[kQuery + ".weight"]);
  };
  ASSERT_NO_FATAL_FAILURE(expect("hqq_w1_g64_axis1", 1, 16 * 64));
  ASSERT_NO_FATAL_FAILURE(expect("hqq_w2_g64_axis1", 2, 32 * 64));
  ASSERT_NO_FATAL_FAILURE(expect("hqq_w3_g64_axis1", 3, 13 * 64));
  ASSERT_NO_FATAL_FAILURE(expect("hqq_w4_g64_axis1", 4, 64 * 64));
}

/// [out, in] stored as [in, out / 8] words of interleaved codes.
void expect_interleaved(const std::string& folder, const std::string& module, int64_t out,
                        int64_t in, Plan plan, std::vector<std::string> tensors,
                        std::vector<std::pair<Element, std::string>> outputs) {
  const Folder model(folder, "model");
  const Bytes x = model[module + tensors[0]];
  const Bytes scale = model[module + tensors[1]];
  const Bytes zero = model[module + tensors[2]];
  plan.has_zero_point = true;
  plan.parameters.x_packing =
      plan.parameters.zero_point_packing = {.order = interleaved, .bits = 4, .row = out};
  const std::vector<Dimension> d{
      {.size = out, .x = 1, .scale = 1, .zero_point = 1, .y = in},
      {.size = in, .x = out, .scale = out, .zero_point = out, .y = 1, .block = 32}};
  for (const auto& [output, file] : outputs) {
    plan.output = output;
    ASSERT_NO_FATAL_FAILURE(
        expect_golden(plan, d, in, {x, scale, zero, {}}, Folder(folder, file)[module + ".weight"]));
  }
}

TEST_F(CheckpointGoldens, AwqAndQuarkInterleaveCodesAlongTheRows) {
  for (const auto& [name, out, in] :
       {std::tuple{"self_attn.q_proj", 64, 128}, {"mlp.down_proj", 96, 64}}) {
    ASSERT_NO_FATAL_FAILURE(expect_interleaved(
        "awq_gemm_g32", kLayer + name, out, in, {.input = uint8, .scale = float16},
        {".qweight", ".scales", ".qzeros"}, {{float32, "expected_f32"}, {float16, "expected."}}));
  }
  // Codes in two's complement.
  ASSERT_NO_FATAL_FAILURE(expect_interleaved("quark_int4_wo_32", kLayer + "mlp.down_proj", 128, 64,
                                             {.input = int8, .scale = bfloat16},
                                             {".weight", ".weight_scale", ".weight_zero_point"},
                                             {{float32, "expected_f32"}, {bfloat16, "expected."}}));
}

}  // namespace
}  // namespace dequant::checkpoint_layouts_test
