// Cases of schemes of checkpoints: tensors and settings by the producers' names.
#include <gtest/gtest.h>

#include "../judged.h"
#include "../one_case.h"
#include "conformance/cases/cases.h"
#include "dequant/scheme.h"
#include "support/expect_error.h"

namespace dequant::conformance {
namespace {

using testing::case_file;
using testing::fails;
using testing::is_refused;
using testing::passes;
using testing::run_first;
using testing::verdict_is;
using testing::with;

/// float8e4m3fn [1, 2, 1] in blocks of two columns: times 1 and 2.
const std::string kCheckpointBlocks = case_file(
    R"({"name": "blocks", "dialect": "fp8", "version": 1,)"
    R"( "attributes": {"block": [1, 2], "dtype": "float16"},)"
    R"( "inputs": {"weight": {"type": "float8e4m3fn", "shape": [1, 3], "bits": [56, 64, 56]},)"
    R"( "weight_scale": {"type": "float32", "shape": [1, 2], "bits": [1065353216, 1073741824]}},)"
    R"( "expect": {"y": {"type": "float16", "shape": [1, 3], "bits": [15360, 16384, 16384]}}})");

/// Codes 1, 0 of inputs 0 and 1 of one output, zero points 0 (stored), scales 1 and 2 of two
/// groups.
const std::string kActOrder = case_file(
    R"({"name": "act_order", "dialect": "gptq", "version": 1,)"
    R"( "attributes": {"bits": 4, "format": "gptq_v2", "dtype": "float32"},)"
    R"( "inputs": {"qweight": {"type": "int32", "shape": [1, 1], "bits": [49]},)"
    R"( "qzeros": {"type": "int32", "shape": [2, 1], "bits": [0, 0]},)"
    R"( "scales": {"type": "float16", "shape": [2, 1], "bits": [15360, 16384]},)"
    R"( "g_idx": {"type": "int32", "shape": [2], "bits": [1, 0]}},)"
    R"( "expect": {"y": {"type": "float32", "shape": [1, 2], "bits": [1073741824, 1077936128]}}})");

TEST(CheckpointCase, TensorsAndSettingsHaveTheProducersNames) {
  EXPECT_TRUE(passes(kCheckpointBlocks));
  EXPECT_TRUE(passes(kActOrder));
  EXPECT_TRUE(verdict_is(run_first(with(kActOrder, "[1, 0]", "[0, 1]")), Verdict::failed,
                         "first at [0, 0]"));
}

TEST(CheckpointCase, ListsMayBeTexts) {
  EXPECT_TRUE(passes(with(kCheckpointBlocks, "[1, 2], \"dtype\"", "\"1,2\", \"dtype\"")));
  EXPECT_TRUE(fails(run_first(with(kCheckpointBlocks, "[1, 2], \"dtype\"", "[1, 0.5], \"dtype\"")),
                    ErrorCode::malformed, "attributes.block: list[1]"));
}

TEST(CheckpointCase, TheOutputIsFloat32UnlessToldOtherwise) {
  EXPECT_TRUE(verdict_is(run_first(with(kCheckpointBlocks, R"(, "dtype": "float16")", "")),
                         Verdict::failed, "y is float32[1, 3] where float16[1, 3]"));
  EXPECT_TRUE(
      is_refused(with(kCheckpointBlocks, R"("dtype": "float16")", R"("dtype": "int8")"), "output"));
}

TEST(CheckpointCase, TheCodebookOfModelOptIsItsOwn) {
  EXPECT_TRUE(passes(case_file(
      R"({"name": "nvfp4", "dialect": "modelopt", "version": 1,)"
      R"( "inputs": {"weight": {"type": "uint8", "shape": [1, 8],)"
      R"( "bits": [136, 31, 0, 0, 0, 0, 0, 0]},)"
      R"( "weight_scale": {"type": "float8e4m3fn", "shape": [1, 1], "bits": [56]},)"
      R"( "weight_scale_2": {"type": "float32", "shape": [], "bits": [1065353216]}},)"
      R"( "expect": {"y": {"type": "float32", "shape": [1, 16],)"
      R"( "bits": [0, 0, 3233808384, 1056964608, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}})")));
}

TEST(CheckpointCase, WhatTheSchemeForbidsIsRefused) {
  EXPECT_TRUE(is_refused(with(kActOrder, "\"bits\": 4", "\"bits\": 5"), "bits: 5"));
  EXPECT_TRUE(is_refused(with(kActOrder, "\"bits\": 4", "\"bits\": \"x\""), "bits: \"x\""));
  EXPECT_TRUE(is_refused(with(kActOrder, "\"bits\": 4", "\"axis\": 0"), "no option \"axis\""));
  EXPECT_TRUE(is_refused(with(kActOrder, "[1, 0]", "[1, 2]"), "2"));
  EXPECT_TRUE(is_refused(with(kCheckpointBlocks, "[1, 2], \"dtype\"", "[1, 4], \"dtype\""),
                         "weight_scale"));
}

TEST(CheckpointCase, TensorsThatTheListDoesNotHaveAreMalformed) {
  EXPECT_TRUE(fails(run_first(with(kCheckpointBlocks, "\"weight_scale\"", "\"scale\"")),
                    ErrorCode::malformed, "inputs.scale: fp8 has no such tensor"));
  EXPECT_TRUE(fails(run_first(with(kActOrder, "\"scales\"", "\"g_idx2\"")), ErrorCode::malformed,
                    "inputs.g_idx2"));
  const std::string_view qzeros =
      R"( "qzeros": {"type": "int32", "shape": [2, 1], "bits": [0, 0]},)";
  EXPECT_TRUE(
      fails(run_first(with(kActOrder, qzeros, "")), ErrorCode::malformed, "there is no qzeros"));
  EXPECT_TRUE(
      fails(run_first(with(kCheckpointBlocks, "\"version\": 1, \"attr", "\"version\": 2, \"attr")),
            ErrorCode::malformed, "fp8 has only 1"));
  EXPECT_TRUE(fails(run_first(with(kCheckpointBlocks, "[56, 64, 56]", "[56, 64]")),
                    ErrorCode::malformed, "weight: 2 codes for the 3"));
}

TEST(CheckpointCase, EverySchemeIsADialect) {
  const auto known = dialects();
  EXPECT_EQ(known.size(), 5 + schemes().size());
  for (const Scheme& scheme : schemes()) {
    EXPECT_NE(std::find(known.begin(), known.end(), scheme.name), known.end()) << scheme.name;
    EXPECT_EQ(codes_name(scheme.name), scheme.inputs.front().name);
  }
}

}  // namespace
}  // namespace dequant::conformance
