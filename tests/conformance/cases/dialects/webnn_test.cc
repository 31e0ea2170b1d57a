// Cases of WebNN: three inputs, no attributes, blocks by the sizes alone.
#include <gtest/gtest.h>

#include "../judged.h"
#include "../one_case.h"
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

/// uint8 [[1, 2, 3, 4]] in two blocks: (x - 1) * 1 and (x - 3) * 2.
const std::string kWebnnBlocks =
    case_file(R"({"name": "blocks", "dialect": "webnn", "version": 1, "attributes": {},)"
              R"( "inputs": {"x": {"type": "uint8", "shape": [1, 4], "bits": [1, 2, 3, 4]},)"
              R"( "scale": {"type": "float32", "shape": [1, 2], "bits": [1065353216, 1073741824]},)"
              R"( "zero_point": {"type": "uint8", "shape": [1, 2], "bits": [1, 3]}},)"
              R"( "expect": {"y": {"type": "float32", "shape": [1, 4],)"
              R"( "bits": [0, 1065353216, 0, 1073741824]}}})");

std::string blocks_with(std::string_view from, std::string_view to) {
  return with(kWebnnBlocks, from, to);
}

TEST(WebnnCase, BlocksFollowFromTheSizes) {
  EXPECT_TRUE(passes(kWebnnBlocks));
  EXPECT_TRUE(passes(blocks_with(R"("version": 1, "attr)", R"("version": "1", "attr)")));
  EXPECT_TRUE(verdict_is(run_first(blocks_with("[0, 1065353216, 0", "[0, 1065353216, 1")),
                         Verdict::failed, "first at [0, 2]"));
}

TEST(WebnnCase, TheOutputHasTheTypeOfTheScale) {
  std::string text = blocks_with(R"("float32", "shape": [1, 2], "bits": [1065353216, 1073741824])",
                                 R"("float16", "shape": [1, 2], "bits": [15360, 16384])");
  EXPECT_TRUE(
      verdict_is(run_first(text), Verdict::failed, "y is float16[1, 4] where float32[1, 4]"));
  text = with(text, R"("float32", "shape": [1, 4], "bits": [0, 1065353216, 0, 1073741824])",
              R"("float16", "shape": [1, 4], "bits": [0, 15360, 0, 16384])");
  EXPECT_TRUE(passes(text));
}

TEST(WebnnCase, WhatTheSpecificationForbidsIsRefused) {
  EXPECT_TRUE(is_refused(blocks_with(R"([1, 2], "bits": [1065353216, 1073741824])",
                                     R"([2], "bits": [1065353216, 1073741824])"),
                         "scale"));
  EXPECT_TRUE(
      is_refused(blocks_with(R"([1, 2], "bits": [1, 3])", R"([2, 1], "bits": [1, 3])"), "zero"));
  EXPECT_TRUE(is_refused(
      blocks_with(R"("zero_point": {"type": "uint8")", R"("zero_point": {"type": "int8")"),
      "zero"));
  EXPECT_TRUE(
      is_refused(blocks_with(R"("scale": {"type": "float32")", R"("scale": {"type": "bfloat16")"),
                 "bfloat16"));
}

TEST(WebnnCase, AttributesAreRefused) {
  EXPECT_TRUE(is_refused(blocks_with(R"("attributes": {})", R"("attributes": {"axis": 0})"),
                         "axis: dequantizeLinear has no such attribute"));
}

TEST(WebnnCase, AllThreeInputsAreNeeded) {
  std::string text =
      blocks_with(R"(, "zero_point": {"type": "uint8", "shape": [1, 2], "bits": [1, 3]})", "");
  EXPECT_TRUE(fails(run_first(text), ErrorCode::malformed, "there is no zero_point"));
  text = blocks_with(R"("zero_point")", R"("bias": {"type": "uint8", "shape": [], "bits": [0]},)"
                                        R"( "zero_point")");
  EXPECT_TRUE(fails(run_first(text), ErrorCode::malformed, "inputs.bias"));
}

TEST(WebnnCase, ThereIsOneVersion) {
  EXPECT_TRUE(fails(run_first(blocks_with(R"("version": 1, "attr)", R"("version": 2, "attr)")),
                    ErrorCode::malformed, "webnn has only 1"));
}

}  // namespace
}  // namespace dequant::conformance
