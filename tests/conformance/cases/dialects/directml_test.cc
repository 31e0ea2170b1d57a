// Cases of DirectML: operators and feature levels by their names, inputs in strides.
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

/// int8 [[1, 3], [2, 4]], stored by columns, times 1 for all.
const std::string kColumns = case_file(
    R"({"name": "columns", "dialect": "directml", "version": "6_2",)"
    R"( "operator": "ELEMENT_WISE_DEQUANTIZE_LINEAR", "attributes": {},)"
    R"( "inputs": {"x": {"type": "int8", "shape": [2, 2], "strides": [1, 2],)"
    R"( "bits": [1, 2, 3, 4]},)"
    R"( "scale": {"type": "float32", "shape": [2, 2], "strides": [0, 0], "bits": [1065353216]}},)"
    R"( "expect": {"y": {"type": "float32", "shape": [2, 2],)"
    R"( "bits": [1065353216, 1077936128, 1073741824, 1082130432]}}})");

/// uint4 [1, 2, 3, 4] in two blocks: (x - 1) * 1 and (x - 3) * 2.
const std::string kDirectmlBlocks = case_file(
    R"({"name": "blocks", "dialect": "directml", "version": "6_3", "operator": "DEQUANTIZE",)"
    R"( "attributes": {"quantization_type": "SCALE_ZERO_POINT"},)"
    R"( "inputs": {"x": {"type": "uint4", "shape": [4], "bits": [1, 2, 3, 4]},)"
    R"( "scale": {"type": "float32", "shape": [2], "bits": [1065353216, 1073741824]},)"
    R"( "zero_point": {"type": "uint4", "shape": [2], "bits": [1, 3]}},)"
    R"( "expect": {"y": {"type": "float32", "shape": [4],)"
    R"( "bits": [0, 1065353216, 0, 1073741824]}}})");

TEST(DirectmlCase, StridesOrderTheElements) {
  EXPECT_TRUE(passes(kColumns));
  EXPECT_TRUE(verdict_is(run_first(with(kColumns, "1077936128", "1077936129")), Verdict::failed,
                         "first at [0, 1]"));
  // A gap before the second row, and one after it.
  const std::string padded = with(kColumns, R"("strides": [1, 2], "bits": [1, 2, 3, 4])",
                                  R"("strides": [3, 1], "bits": [1, 3, 99, 2, 4, 99, 99, 99, 99])");
  EXPECT_TRUE(passes(padded));
}

TEST(DirectmlCase, PackedStridesAreThoseOfNoStrides) {
  const std::string packed =
      with(kColumns, R"("strides": [1, 2], "bits": [1, 2, 3, 4])", R"("bits": [1, 3, 2, 4])");
  EXPECT_TRUE(passes(packed));
  EXPECT_TRUE(passes(with(packed, R"("bits": [1, 3)", R"("strides": [2, 1], "bits": [1, 3)")));
}

TEST(DirectmlCase, StridesPastTheStorageAreRefused) {
  // 5 bytes where 4 are stored.
  EXPECT_TRUE(is_refused(with(kColumns, R"("strides": [1, 2])", R"("strides": [1, 3])"),
                         "TotalTensorSizeInBytes: 4 is less than 8"));
  // 4 bytes where 3 are stored, which buffers of whole words cannot tell.
  EXPECT_TRUE(is_refused(with(kColumns, "[1, 2, 3, 4]", "[1, 2, 3]"),
                         "x: strides reach 4 elements where 3 are stored"));
  EXPECT_TRUE(is_refused(with(kColumns, R"("strides": [1, 2])", R"("strides": [-1, 2])"), "-1"));
}

TEST(DirectmlCase, SizesAndStridesHave32Bits) {
  EXPECT_TRUE(is_refused(with(kColumns, R"("shape": [2, 2], "strides": [1, 2])",
                              R"("shape": [2, 4294967296], "strides": [1, 0])"),
                         "4294967296 in dimension 1"));
  EXPECT_TRUE(is_refused(with(kColumns, R"("strides": [1, 2])", R"("strides": [4294967296, 2])"),
                         "4294967296 in dimension 0"));
}

TEST(DirectmlCase, LittleStorageCannotAskForAllMemory) {
  std::string text = with(kColumns, R"("shape": [2, 2], "strides": [1, 2], "bits": [1, 2, 3, 4])",
                          R"("shape": [65536, 2048], "strides": [0, 0], "bits": [1])");
  text = with(text, R"("shape": [2, 2], "strides": [0, 0])",
              R"("shape": [65536, 2048], "strides": [0, 0])");
  EXPECT_TRUE(fails(run_first(text), ErrorCode::limit, "134217728 elements"));
}

TEST(DirectmlCase, BlocksFollowFromTheSizes) {
  EXPECT_TRUE(passes(kDirectmlBlocks));
  EXPECT_TRUE(passes(with(kDirectmlBlocks, "6_3", "6_4")));
  EXPECT_TRUE(verdict_is(run_first(with(kDirectmlBlocks, "[0, 1065353216, 0", "[0, 1065353217, 0")),
                         Verdict::failed, "first at [1]"));
}

TEST(DirectmlCase, TheQuantizationTypeCountsTheTensors) {
  const std::string scale_only = with(kDirectmlBlocks, "SCALE_ZERO_POINT", "SCALE");
  EXPECT_TRUE(is_refused(scale_only, "QuantizationTensorCount"));
  EXPECT_TRUE(is_refused(with(kDirectmlBlocks, "SCALE_ZERO_POINT", "NONE"), "QuantizationType"));
}

TEST(DirectmlCase, WhatALevelLacksIsRefused) {
  EXPECT_TRUE(is_refused(with(kDirectmlBlocks, "6_3", "6_2"), "6_3"));
  EXPECT_TRUE(is_refused(with(kColumns, "6_2", "6_1"), "ero"));  // no zero point
  EXPECT_TRUE(is_refused(
      with(kColumns, R"("scale": {"type": "float32")", R"("scale": {"type": "bfloat16")"),
      "scale: DirectML has no type bfloat16"));
}

TEST(DirectmlCase, OtherAttributesAreRefused) {
  EXPECT_TRUE(is_refused(
      with(kColumns, R"("attributes": {})", R"("attributes": {"quantization_type": "SCALE"})"),
      "ELEMENT_WISE_DEQUANTIZE_LINEAR has no such attribute"));
  EXPECT_TRUE(is_refused(
      with(kDirectmlBlocks, R"({"quantization_type")", R"({"axis": 0, "quantization_type")"),
      "axis: DEQUANTIZE has no such attribute"));
}

TEST(DirectmlCase, NamesAreThoseOfTheFormat) {
  for (const std::string_view version : {"7_0", "6.2", "62", "1_1", "DML_FEATURE_LEVEL_6_2"}) {
    EXPECT_TRUE(fails(run_first(with(kColumns, "6_2", version)), ErrorCode::malformed, "version"))
        << version;
  }
  EXPECT_TRUE(fails(run_first(with(kColumns, "ELEMENT_WISE_DEQUANTIZE_LINEAR", "QUANTIZE")),
                    ErrorCode::malformed, "operator: \"QUANTIZE\""));
  EXPECT_TRUE(fails(run_first(with(kDirectmlBlocks, "SCALE_ZERO_POINT", "BOTH")),
                    ErrorCode::malformed, "attributes.quantization_type: \"BOTH\""));
  EXPECT_TRUE(
      fails(run_first(with(kDirectmlBlocks, R"("quantization_type": "SCALE_ZERO_POINT")", "")),
            ErrorCode::malformed, "needs quantization_type"));
}

TEST(DirectmlCase, InputsFitTheirShapes) {
  EXPECT_TRUE(fails(run_first(with(kDirectmlBlocks, "[1, 2, 3, 4]", "[1, 2, 3]")),
                    ErrorCode::malformed, "x: 3 codes for the 4"));
  EXPECT_TRUE(fails(run_first(with(kDirectmlBlocks, "[1, 2, 3, 4]", "[1, 2, 3, 16]")),
                    ErrorCode::malformed, "x: bits[3]: 16"));
  EXPECT_TRUE(fails(run_first(with(kColumns, R"("strides": [1, 2])", R"("strides": [1])")),
                    ErrorCode::malformed, "x: 1 strides for a shape of 2"));
  EXPECT_TRUE(fails(run_first(with(kColumns, R"("scale": {)", R"("min_range": {)")),
                    ErrorCode::malformed, "scale"));
}

}  // namespace
}  // namespace dequant::conformance
