// Hostile input: zero points and types.
#include <climits>

#include "c_api/hostile.h"

namespace dequant::testing::c::hostile_type_test {
namespace {

constexpr dequant_element kAll[] = {DEQUANT_FLOAT32,
                                    DEQUANT_UINT8,
                                    DEQUANT_INT8,
                                    DEQUANT_UINT16,
                                    DEQUANT_INT16,
                                    DEQUANT_INT32,
                                    DEQUANT_FLOAT16,
                                    DEQUANT_UINT32,
                                    DEQUANT_BFLOAT16,
                                    DEQUANT_FLOAT8E4M3FN,
                                    DEQUANT_FLOAT8E4M3FNUZ,
                                    DEQUANT_FLOAT8E5M2,
                                    DEQUANT_FLOAT8E5M2FNUZ,
                                    DEQUANT_UINT4,
                                    DEQUANT_INT4,
                                    DEQUANT_FLOAT4E2M1,
                                    DEQUANT_FLOAT8E8M0,
                                    DEQUANT_UINT2,
                                    DEQUANT_INT2};

bool is_float(dequant_element e) {
  return e == DEQUANT_FLOAT32 || e == DEQUANT_FLOAT16 || e == DEQUANT_BFLOAT16;
}

TEST(Hostile, AZeroPointOfAnotherTypeIsRefused) {
  const OnnxNode owner;
  const Dims one{1, 1};
  for (const dequant_element zero : kAll) {
    if (zero == DEQUANT_INT8) continue;
    auto onnx = owner.view();
    onnx.x_zero_point = tensor(zero, {});
    EXPECT_TRUE(is_invalid(plan(onnx), "x_zero_point: element type"));
    auto microsoft = sized<dequant_microsoft>();
    microsoft.version = 1;
    microsoft.x = onnx.x;
    microsoft.x_scale = onnx.x_scale;
    microsoft.x_zero_point = tensor(zero, {});
    EXPECT_TRUE(is_invalid(plan(microsoft), "x_zero_point: element type"));
    auto webnn = sized<dequant_webnn>();
    webnn.input = onnx.x;
    webnn.scale = tensor(DEQUANT_FLOAT32, one);
    webnn.zero_point = tensor(zero, one);
    EXPECT_TRUE(is_invalid(plan(webnn), ": element type"));
  }
  DirectMLNode directml;
  directml.zero_point.type = DML_TENSOR_DATA_TYPE_INT8;
  EXPECT_EQ(plan(directml).outcome.code, DEQUANT_INVALID_ARGUMENT);
}

TEST(Hostile, ZeroPointsOfInt32AreSubtractedExactly) {
  // ONNX says only that there are none; docs/numerics.md says what they give here.
  const OnnxNode node{.x = DEQUANT_INT32, .x_dims = {3}, .has_zero = true};
  EXPECT_EQ((dequantize<float, int32_t, float>(node, {16777217, 16777218, 5}, {1.0F}, {16777216})),
            (std::vector<float>{1, 2, -16777211}));
}

TEST(Hostile, ExtremesOf32BitsDoNotWrap) {
  const OnnxNode node{.x = DEQUANT_INT32, .x_dims = {2}, .has_zero = true};
  EXPECT_EQ((dequantize<float, int32_t, float>(node, {INT32_MIN, 0}, {1.0F}, {INT32_MAX})),
            (std::vector<float>{-4294967296.0F, -2147483648.0F}));
  EXPECT_EQ((dequantize<float, int32_t, float>(node, {INT32_MAX, 0}, {1.0F}, {INT32_MIN})),
            (std::vector<float>{4294967296.0F, 2147483648.0F}));
  const Dims input{2};
  const Dims one{1};
  auto webnn = sized<dequant_webnn>();
  webnn.input = tensor(DEQUANT_UINT32, input);
  webnn.scale = tensor(DEQUANT_FLOAT32, one);
  webnn.zero_point = tensor(DEQUANT_UINT32, one);
  Buffers b{.x = bytes_of<uint32_t>({0, UINT32_MAX}),
            .scale = bytes_of<float>({1.0F}),
            .zero_point = bytes_of<uint32_t>({UINT32_MAX})};
  EXPECT_EQ(numbers_of<float>(output_of(plan(webnn), b)),
            (std::vector<float>{-4294967296.0F, 0.0F}));
}

TEST(Hostile, AFloatXHasNoZeroPointButZero) {
  for (const auto x : {DEQUANT_FLOAT8E4M3FN, DEQUANT_FLOAT8E4M3FNUZ, DEQUANT_FLOAT8E5M2,
                       DEQUANT_FLOAT8E5M2FNUZ, DEQUANT_FLOAT4E2M1}) {
    const auto planned = plan(OnnxNode{.x = x, .x_dims = {1}, .has_zero = true});
    for (const unsigned code : {0x01u, 0x02u, 0x07u}) {
      Buffers b{.x = {0},
                .scale = Memory(4),
                .zero_point = {static_cast<unsigned char>(code)},
                .y = Memory(4, kUntouched)};
      EXPECT_TRUE(refused(planned, b.view(),
                          "zero_point: element 0 has code " + std::to_string(code), b.y));
    }
  }
}

TEST(Hostile, NarrowRangeIsATruthValue) {
  const TensorFlowNode owner;
  auto node = owner.view();
  for (const int value : {2, -1, 0x100, INT_MAX, INT_MIN}) {
    node.narrow_range = value;
    EXPECT_TRUE(is_invalid(plan(node), "narrow_range: " + std::to_string(value)));
  }
}

TEST(Hostile, TypesThatAreNoneAreRefused) {
  const OnnxNode owner;
  auto node = owner.view();
  for (const int number : {0x7FFFFFFF, -1, 29, 7}) {
    set_number(node.x.element, number);
    EXPECT_TRUE(is_invalid(plan(node), "x: " + std::to_string(number)));
  }
  for (const int64_t number :
       {int64_t{0x7FFFFFFF}, INT64_MIN, INT64_MAX, int64_t{-1}, int64_t{1} << 32}) {
    EXPECT_TRUE(is_invalid(plan(OnnxNode{.output_dtype = number}),
                           "output_dtype: " + std::to_string(number)));
  }
  DirectMLNode directml;
  for (const int number : {0, 14, -1, 0x7FFFFFFF}) {
    set_number(directml.input.type, number);
    EXPECT_NE(plan(directml).outcome.code, DEQUANT_OK) << number;
  }
}

TEST(Hostile, TypesInAWrongPlaceAreRefused) {
  const Dims one{1, 1};
  for (const dequant_element e : kAll) {
    const OnnxNode onnx_owner;
    auto onnx = onnx_owner.view();
    onnx.x.element = e;
    const bool input = !is_float(e) && e != DEQUANT_FLOAT8E8M0;
    if (!input) {
      EXPECT_TRUE(is_invalid(plan(onnx), "x: element type"));
    }
    onnx = onnx_owner.view();
    onnx.x_scale.element = e;
    if (!is_float(e)) {
      EXPECT_EQ(plan(onnx).outcome.code, DEQUANT_INVALID_ARGUMENT);
    }
    const TensorFlowNode tensorflow_owner;
    auto tensorflow = tensorflow_owner.view();
    tensorflow.min_range.element = e;
    if (e != DEQUANT_FLOAT32) {
      EXPECT_TRUE(is_invalid(plan(tensorflow), "min_range: element type"));
    }
    tensorflow = tensorflow_owner.view();
    tensorflow.dtype = e;
    if (e != DEQUANT_FLOAT32 && e != DEQUANT_BFLOAT16) {
      EXPECT_TRUE(is_invalid(plan(tensorflow), "dtype: "));
    }
    tensorflow = tensorflow_owner.view();
    tensorflow.input.element = e;
    if (!input || e == DEQUANT_UINT4 || e == DEQUANT_UINT32 || e == DEQUANT_FLOAT8E5M2) {
      EXPECT_TRUE(is_invalid(plan(tensorflow), "input: element type"));
    }
    auto webnn = sized<dequant_webnn>();
    webnn.input = tensor(DEQUANT_INT8, one);
    webnn.scale = tensor(e, one);
    webnn.zero_point = tensor(DEQUANT_INT8, one);
    if (e != DEQUANT_FLOAT32 && e != DEQUANT_FLOAT16) {
      EXPECT_TRUE(is_invalid(plan(webnn), "scale"));
    }
  }
}

}  // namespace
}  // namespace dequant::testing::c::hostile_type_test
