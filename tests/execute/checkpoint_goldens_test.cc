// Plans of layouts that checkpoints have, built by hand, on checkpoints that their producers' own
// code wrote: the floats are those that the producers' own dequantizers give. NaN is compared as a
// class.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "dequant/isa.h"
#include "plan/strided.h"
#include "support/expect_error.h"
#include "support/forced_target.h"
#include "support/packed.h"

namespace dequant {
namespace {

using testing::Bytes;
using testing::succeeds;
using enum Element;

namespace fs = std::filesystem;

fs::path checkpoints() {
  const char* shared = std::getenv("DEQUANT_SHARED");
  return fs::path(shared != nullptr ? shared : DEQUANT_SHARED_FOLDER) / "checkpoints";
}

/// The tensors of the files of a folder whose names start so, by their names. Just enough of a
/// reader for files that are known to be good.
class Folder {
 public:
  Folder(const std::string& folder, const std::string& start) {
    for (const auto& entry : fs::directory_iterator(checkpoints() / folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(start) && name.ends_with(".safetensors")) read(entry.path());
    }
  }

  /// The bytes of a tensor; none, and a failure, if there is no such.
  Bytes operator[](const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) ADD_FAILURE() << name << " is missing";
    return found == tensors_.end() ? Bytes{} : found->second;
  }

 private:
  void read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    uint64_t length = 0;
    std::memcpy(&length, all.data(), sizeof length);
    const std::string header = all.substr(8, length);
    const std::string key = "\"data_offsets\":[";
    for (size_t at = header.find(key); at != std::string::npos; at = header.find(key, at + 1)) {
      const size_t brace = header.rfind(":{\"dtype\"", at);
      const size_t quote = header.rfind('"', brace - 2);
      const std::string name = header.substr(quote + 1, brace - quote - 2);
      size_t digits = 0;
      const std::string numbers = header.substr(at + key.size());
      const uint64_t begin = std::stoull(numbers, &digits);
      const uint64_t end = std::stoull(numbers.substr(digits + 1));
      const auto* bytes = reinterpret_cast<const std::byte*>(all.data() + 8 + length);
      tensors_[name] = Bytes(bytes + begin, bytes + end);
    }
  }

  std::map<std::string, Bytes> tensors_;
};

/// Whether a producer tells -0 from +0.
enum class Zeros { differ, alike };

/// True for equal codes, and for any two NaNs.
bool same(Element y, uint32_t a, uint32_t b, Zeros zeros) {
  const double left = value_of(y, a);
  const double right = value_of(y, b);
  if (zeros == Zeros::alike && left == 0 && right == 0) return true;
  return a == b || (std::isnan(left) && std::isnan(right));
}

/// Whole and in bands of seven rows, on every target, the plan gives what the producer does.
void expect_golden(const Plan& types, const std::vector<Dimension>& dimensions, int64_t columns,
                   Buffers buffers, const Bytes& want, Zeros zeros = Zeros::differ) {
  const auto plan = strided_plan(types, dimensions);
  ASSERT_TRUE(succeeds(plan));
  const int64_t count = element_count(*plan);
  ASSERT_EQ(want.size(), testing::bytes_for(plan->output, count));
  const auto check = [&](const Bytes& y, std::string_view target) {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t got = testing::code_at(plan->output, y, i);
      ASSERT_TRUE(same(plan->output, got, testing::code_at(plan->output, want, i), zeros))
          << target << ": element " << i << " of " << to_string(*plan);
    }
  };
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    Bytes y(want.size());
    buffers.y = y;
    ASSERT_TRUE(succeeds(run(*plan, buffers)));
    ASSERT_NO_FATAL_FAILURE(check(y, target));
    Bytes banded(want.size());
    for (int64_t begin = 0; begin < count; begin += 7 * columns) {
      const Range band{begin, std::min(begin + 7 * columns, count)};
      const Slices s = slices_of(*plan, band);
      const auto part = [](auto all, Element element, Range slice) {
        const Range bytes = bytes_of(element, slice);
        return all.subspan(static_cast<size_t>(bytes.begin),
                           static_cast<size_t>(bytes.end - bytes.begin));
      };
      Buffers slices = buffers;
      slices.x = part(buffers.x, plan->input, s.x);
      slices.scale = part(buffers.scale, plan->scale, s.scale);
      slices.zero_point = part(buffers.zero_point, zero_point_element(*plan), s.zero_point);
      slices.group_index = part(buffers.group_index, int32, s.group_index);
      slices.y = part(std::span(banded), plan->output, s.y);
      ASSERT_TRUE(succeeds(run_range(*plan, band, slices)));
    }
    ASSERT_NO_FATAL_FAILURE(check(banded, target));
  }
}

class CheckpointGoldens : public ::testing::Test {
 protected:
  void SetUp() override {
    if (fs::is_directory(checkpoints())) return;
    GTEST_SKIP() << "SHARED FILES MISSING: " << checkpoints() << " is no folder";
  }
};

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

/// [rows, columns] of packed codes in groups along the columns.
std::vector<Dimension> grouped(int64_t rows, int64_t columns, int64_t group) {
  return {{.size = rows, .x = columns, .scale = columns / group, .y = columns},
          {.size = columns, .x = 1, .scale = 1, .y = 1, .block = group}};
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
}  // namespace dequant
