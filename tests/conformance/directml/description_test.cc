// Descriptions in the form of DxDispatch: what they may say, and every way to be wrong.
#include "conformance/directml/description.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "support/expect_error.h"

namespace dequant::conformance::directml {
namespace {

using dequant::directml::compile;
using testing::fails;
using testing::succeeds;

constexpr std::string_view kElementWise = R"({
  "Type": "DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR",
  "Desc": {
    "InputTensor": {"DataType": "DML_TENSOR_DATA_TYPE_UINT8", "Sizes": [1, 1, 2, 3],
                    "Strides": [0, 0, 4, 1], "Flags": "DML_TENSOR_FLAG_OWNED_BY_DML",
                    "GuaranteedBaseOffsetAlignment": 16},
    "ScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 3], "Strides": [0, 0, 0, 0]},
    "ZeroPointTensor": {"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "Strides": [0, 0, 0, 0]},
    "OutputTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 2, 3], "TotalTensorSizeInBytes": 40}
  }})";

constexpr std::string_view kDequantize = R"({
  "type": "DEQUANTIZE",
  "desc": {
    "InputTensor": {"Type": "DML_TENSOR_TYPE_BUFFER",
                    "Desc": {"DataType": "UINT4", "Sizes": [2, 8], "DimensionCount": 2}},
    "QuantizationType": "SCALE_ZERO_POINT",
    "QuantizationTensorCount": 2,
    "QuantizationTensors": [{"DataType": "FLOAT16", "Sizes": [2, 2]},
                            {"DataType": "UINT4", "Sizes": [2, 2], "TotalTensorSizeInBytes": 0}],
    "OutputTensor": {"DataType": "FLOAT16", "Sizes": [2, 8], "Flags": []}
  }})";

/// A text with one part replaced.
std::string with(std::string_view text, std::string_view what, std::string_view by) {
  std::string out(text);
  const size_t at = out.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  if (at != std::string::npos) out.replace(at, what.size(), by);
  return out;
}

/// For EXPECT_TRUE: the text is malformed by a message that has that word.
::testing::AssertionResult description_is_malformed(std::string_view text, std::string_view word) {
  return fails(parse_description(text), ErrorCode::malformed, word);
}

TEST(DirectMLDescription, ReadsAllThatAnElementWiseOperatorSays) {
  const auto description = parse_description(kElementWise);
  ASSERT_TRUE(succeeds(description));
  const DML_OPERATOR_DESC& op = (*description)->desc();
  ASSERT_EQ(op.Type, DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR);
  const auto& desc = *static_cast<const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC*>(op.Desc);
  ASSERT_EQ(desc.InputTensor->Type, DML_TENSOR_TYPE_BUFFER);
  const auto& input = *static_cast<const DML_BUFFER_TENSOR_DESC*>(desc.InputTensor->Desc);
  EXPECT_EQ(input.DataType, DML_TENSOR_DATA_TYPE_UINT8);
  EXPECT_EQ(input.Flags, DML_TENSOR_FLAG_OWNED_BY_DML);
  ASSERT_EQ(input.DimensionCount, 4U);
  EXPECT_EQ(input.Sizes[3], 3U);
  EXPECT_EQ(input.Strides[2], 4U);
  EXPECT_EQ(input.TotalTensorSizeInBytes, 8U) << "computed";
  EXPECT_EQ(input.GuaranteedBaseOffsetAlignment, 16U);
  const auto& output = *static_cast<const DML_BUFFER_TENSOR_DESC*>(desc.OutputTensor->Desc);
  EXPECT_EQ(output.Strides, nullptr);
  EXPECT_EQ(output.TotalTensorSizeInBytes, 40U);
  EXPECT_TRUE(succeeds(compile(op, DML_FEATURE_LEVEL_1_0)));
}

TEST(DirectMLDescription, ReadsAllThatADequantizeOperatorSays) {
  const auto description = parse_description(kDequantize);
  ASSERT_TRUE(succeeds(description));
  const DML_OPERATOR_DESC& op = (*description)->desc();
  ASSERT_EQ(op.Type, DML_OPERATOR_DEQUANTIZE);
  const auto& desc = *static_cast<const DML_DEQUANTIZE_OPERATOR_DESC*>(op.Desc);
  EXPECT_EQ(desc.QuantizationType, DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT);
  ASSERT_EQ(desc.QuantizationTensorCount, 2U);
  const auto& zero = *static_cast<const DML_BUFFER_TENSOR_DESC*>(desc.QuantizationTensors[1].Desc);
  EXPECT_EQ(zero.DataType, DML_TENSOR_DATA_TYPE_UINT4);
  EXPECT_EQ(zero.TotalTensorSizeInBytes, 4U) << "0 means computed";
  EXPECT_TRUE(succeeds(compile(op, DML_FEATURE_LEVEL_6_3)));
}

TEST(DirectMLDescription, MembersMayStandBesideTheType) {
  std::string text = with(kElementWise, R"("Desc": {)", "");
  text.erase(text.rfind('}'), 1);
  EXPECT_TRUE(succeeds(parse_description(text)));
}

TEST(DirectMLDescription, OptionalMembersMayBeNull) {
  std::string text = with(kElementWise, R"("Strides": [0, 0, 4, 1])", R"("Strides": null)");
  text = with(text, R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "Strides": [0, 0, 0, 0]})",
              "null");
  const auto description = parse_description(text);
  ASSERT_TRUE(succeeds(description));
  const auto op = compile((*description)->desc(), DML_FEATURE_LEVEL_6_2);
  ASSERT_TRUE(succeeds(op));
  EXPECT_FALSE(op->plan.has_zero_point);
}

TEST(DirectMLDescription, FlagsMayBeAList) {
  const auto description = parse_description(
      with(kDequantize, R"("Flags": [])", R"("Flags": ["NONE", "OWNED_BY_DML"])"));
  ASSERT_TRUE(succeeds(description));
  EXPECT_TRUE(testing::is_invalid(compile((*description)->desc(), DML_FEATURE_LEVEL_6_4),
                                  "OutputTensor: Flags"));
}

TEST(DirectMLDescription, UnknownNamesAreRefused) {
  EXPECT_TRUE(
      description_is_malformed(with(kDequantize, "\"UINT4\"", "\"UINT5\""),
                               "InputTensor: DataType: \"UINT5\" is no DML_TENSOR_DATA_TYPE"));
  EXPECT_TRUE(description_is_malformed(with(kDequantize, "TYPE_BUFFER", "TYPE_TEXTURE"),
                                       "InputTensor: Type"));
  EXPECT_TRUE(
      description_is_malformed(with(kDequantize, "SCALE_ZERO_POINT", "ZERO"), "QuantizationType"));
  EXPECT_TRUE(
      description_is_malformed(with(kElementWise, "OWNED_BY_DML", "MINE"), "InputTensor: Flags"));
  EXPECT_TRUE(
      description_is_malformed(with(kElementWise, "\"Flags\"", "\"Flag\""), "the key \"Flag\""));
  EXPECT_TRUE(description_is_malformed(with(kElementWise, "\"ScaleTensor\"", "\"Scale\""),
                                       "the key \"Scale\""));
  EXPECT_TRUE(
      description_is_malformed(with(kElementWise, "\"Desc\"", "\"Description\""), "the key"));
  EXPECT_TRUE(fails(parse_description(with(kDequantize, "DEQUANTIZE", "QUANTIZE")),
                    ErrorCode::unsupported, "Type: \"QUANTIZE\""));
}

TEST(DirectMLDescription, WhatIsMissingIsNamed) {
  EXPECT_TRUE(description_is_malformed("{}", "there is no \"Type\""));
  EXPECT_TRUE(description_is_malformed(R"({"Type": "DEQUANTIZE"})", "there is no \"InputTensor\""));
  EXPECT_TRUE(description_is_malformed(with(kDequantize, R"("DataType": "FLOAT16", )", ""),
                                       "QuantizationTensors[0]: there is no \"DataType\""));
  EXPECT_TRUE(description_is_malformed(with(kDequantize, R"(, "Sizes": [2, 2]})", "}"),
                                       "QuantizationTensors[0]: there is no \"Sizes\""));
  EXPECT_TRUE(description_is_malformed(with(kDequantize, R"("QuantizationTensorCount": 2,)", ""),
                                       "there is no \"QuantizationTensorCount\""));
}

TEST(DirectMLDescription, CountsMatchTheirArrays) {
  EXPECT_TRUE(description_is_malformed(
      with(kDequantize, R"("DimensionCount": 2)", R"("DimensionCount": 3)"),
      "DimensionCount: 3, but there are 2 Sizes"));
  EXPECT_TRUE(description_is_malformed(with(kElementWise, "[0, 0, 4, 1]", "[4, 1]"),
                                       "2 of them for 4 Sizes"));
  EXPECT_TRUE(description_is_malformed(with(kDequantize, "TensorCount\": 2", "TensorCount\": 1"),
                                       "QuantizationTensorCount: 1, but there are 2"));
  EXPECT_TRUE(description_is_malformed(
      with(kDequantize, R"({"DataType": "FLOAT16", "Sizes": [2, 2]},)",
           R"({"DataType": "FLOAT16", "Sizes": [2, 2]}, {"DataType": "INT8", "Sizes": [1]},)"),
      "3 tensors"));
}

TEST(DirectMLDescription, NumbersFitTheirMembers) {
  EXPECT_TRUE(
      description_is_malformed(with(kElementWise, "[0, 0, 4, 1]", "[0, 0, 4, 4294967296]"),
                               "InputTensor: Strides[3]: 4294967296 does not fit in 32 bits"));
  EXPECT_TRUE(description_is_malformed(with(kElementWise, "[1, 1, 2, 3]", "[1, 1, -2, 3]"),
                                       "Sizes[2]: -2"));
  EXPECT_TRUE(description_is_malformed(with(kElementWise, "[1, 1, 2, 3]", "[1, 1, 2.5, 3]"),
                                       "Sizes[2]: 2.5"));
  EXPECT_TRUE(description_is_malformed(with(kElementWise, "Bytes\": 40", "Bytes\": -1"),
                                       "OutputTensor: TotalTensorSizeInBytes: -1"));
  EXPECT_TRUE(description_is_malformed(with(kElementWise, "Alignment\": 16", "Alignment\": \"16\""),
                                       "Alignment"));
}

TEST(DirectMLDescription, WhatIsNotAnObjectIsRefused) {
  EXPECT_TRUE(description_is_malformed("[]", "an array is not an object"));
  EXPECT_TRUE(description_is_malformed("3", "not an object"));
  EXPECT_TRUE(description_is_malformed("{", "not JSON"));
  EXPECT_TRUE(description_is_malformed(R"({"Type": "DEQUANTIZE", "Desc": []})", "not an object"));
  EXPECT_TRUE(
      description_is_malformed(R"({"Type": 174, "Desc": {}})", "Type: 174 is not a string"));
  EXPECT_TRUE(description_is_malformed(R"({"Type": "DEQUANTIZE", "Desc": {"InputTensor": 1}})",
                                       "InputTensor: 1 is not an object"));
}

TEST(DirectMLDescription, SizesThatHaveNoTotalAreTheOnesThatDirectMLRefuses) {
  EXPECT_TRUE(testing::is_invalid(parse_description(with(kDequantize, "[2, 8]", "[2, 0]")),
                                  "InputTensor: Sizes: dimension 1"));
  EXPECT_TRUE(testing::is_invalid(
      parse_description(with(kElementWise, "[0, 0, 4, 1]", "[0, 0, 4294967295, 1]")),
      "InputTensor: Strides"));
}

TEST(DirectMLDescription, FilesAreReadAndNamedInErrors) {
  const std::string path = ::testing::TempDir() + "description_" + std::to_string(getpid());
  const auto write = [&](std::string_view text) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  };
  write(kDequantize);
  EXPECT_TRUE(succeeds(read_description(path)));
  write("[]");
  EXPECT_TRUE(fails(read_description(path), ErrorCode::malformed, path));
  write(std::string((1 << 20) + 1, ' '));
  EXPECT_TRUE(fails(read_description(path), ErrorCode::limit, path));
  std::remove(path.c_str());
  EXPECT_TRUE(fails(read_description(path), ErrorCode::io, path));
}

}  // namespace
}  // namespace dequant::conformance::directml
