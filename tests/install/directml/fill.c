/* C as users of DirectML's structures write it: fills an ELEMENT_WISE_DEQUANTIZE_LINEAR and a
   DEQUANTIZE. It knows nothing of dequant. */
#include <DirectML.h>
#include <stddef.h>

static const UINT sizes[DML_TENSOR_DIMENSION_COUNT_MAX1 / 2] = {1, 1, 2, 8};
static const UINT strides[4] = {0, 0, 0, 0};
static const UINT blocks[4] = {1, 1, 2, 2};

static DML_BUFFER_TENSOR_DESC buffer(enum DML_TENSOR_DATA_TYPE type, const UINT* extent,
                                     const UINT* stride, UINT64 bytes) {
  DML_BUFFER_TENSOR_DESC desc = {0};
  desc.DataType = type;
  desc.Flags = DML_TENSOR_FLAG_NONE;
  desc.DimensionCount = 4;
  desc.Sizes = extent;
  desc.Strides = stride;
  desc.TotalTensorSizeInBytes = bytes;
  desc.GuaranteedBaseOffsetAlignment = DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT;
  return desc;
}

int main(void) {
  const DML_BUFFER_TENSOR_DESC input = buffer(DML_TENSOR_DATA_TYPE_UINT8, sizes, NULL, 16);
  const DML_BUFFER_TENSOR_DESC scale = buffer(DML_TENSOR_DATA_TYPE_FLOAT32, sizes, strides, 4);
  const DML_BUFFER_TENSOR_DESC output = buffer(DML_TENSOR_DATA_TYPE_FLOAT32, sizes, NULL, 64);
  const struct DML_TENSOR_DESC input_tensor = {DML_TENSOR_TYPE_BUFFER, &input};
  const DML_TENSOR_DESC scale_tensor = {DML_TENSOR_TYPE_BUFFER, &scale};
  const DML_TENSOR_DESC output_tensor = {DML_TENSOR_TYPE_BUFFER, &output};
  DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC linear = {0};
  linear.InputTensor = &input_tensor;
  linear.ScaleTensor = &scale_tensor;
  linear.ZeroPointTensor = NULL;
  linear.OutputTensor = &output_tensor;
  const DML_OPERATOR_DESC first = {DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, &linear};

#if DML_TARGET_VERSION >= 0x6300
  const DML_BUFFER_TENSOR_DESC packed = buffer(DML_TENSOR_DATA_TYPE_UINT4, sizes, NULL, 8);
  const DML_BUFFER_TENSOR_DESC zero = buffer(DML_TENSOR_DATA_TYPE_UINT4, blocks, NULL, 4);
  const DML_BUFFER_TENSOR_DESC step = buffer(DML_TENSOR_DATA_TYPE_FLOAT32, blocks, NULL, 16);
  const DML_TENSOR_DESC packed_tensor = {DML_TENSOR_TYPE_BUFFER, &packed};
  const DML_TENSOR_DESC params[2] = {{DML_TENSOR_TYPE_BUFFER, &step},
                                     {DML_TENSOR_TYPE_BUFFER, &zero}};
  const DML_DEQUANTIZE_OPERATOR_DESC dequantize = {
      &packed_tensor, DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT, 2, params, &output_tensor};
  const DML_OPERATOR_DESC second = {DML_OPERATOR_DEQUANTIZE, &dequantize};
#else
  const DML_OPERATOR_DESC second = {DML_OPERATOR_INVALID, blocks};
#endif

  const DML_BUFFER_BINDING binding = {NULL, 0, input.TotalTensorSizeInBytes};
  const DML_BINDING_DESC bound = {DML_BINDING_TYPE_BUFFER, &binding};
  const DML_FEATURE_LEVEL level = DML_FEATURE_LEVEL_6_2;
  return first.Desc != NULL && second.Desc != NULL && bound.Desc != NULL && level == 0x6200 ? 0 : 1;
}
