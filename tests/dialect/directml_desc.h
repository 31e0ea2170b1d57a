// DirectML descriptions that own their memory, for tables of cases; by default the smallest that
// every feature level accepts.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dequant/directml.h"
#include "support/expect_error.h"

namespace dequant::testing {

using Uints = std::vector<UINT>;

/// A tensor. What is not set is as simple as it can be: packed, of the least total size.
struct DmlTensor {
  DML_TENSOR_DATA_TYPE type = DML_TENSOR_DATA_TYPE_UINT8;
  Uints sizes = {1, 1, 2, 3};
  std::optional<Uints> strides = {};
  std::optional<UINT64> bytes = {};
  UINT flags = 0;
  UINT alignment = 0;

  /// The least total size: elements that strides reach, in bytes, rounded up to 4.
  UINT64 least_bytes() const {
    UINT64 elements = 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (strides) {
        elements += UINT64{sizes[d] - 1} * (*strides)[d];
      } else {
        elements *= sizes[d];
      }
    }
    return (elements * width() + 31) / 32 * 4;
  }

  UINT64 width() const {
    switch (type) {
      case DML_TENSOR_DATA_TYPE_UINT4:
      case DML_TENSOR_DATA_TYPE_INT4: return 4;
      case DML_TENSOR_DATA_TYPE_UINT8:
      case DML_TENSOR_DATA_TYPE_INT8: return 8;
      case DML_TENSOR_DATA_TYPE_FLOAT16:
      case DML_TENSOR_DATA_TYPE_UINT16:
      case DML_TENSOR_DATA_TYPE_INT16: return 16;
      case DML_TENSOR_DATA_TYPE_FLOAT64:
      case DML_TENSOR_DATA_TYPE_UINT64:
      case DML_TENSOR_DATA_TYPE_INT64: return 64;
      default: return 32;
    }
  }
};

/// The structures of a tensor, which borrow from it.
struct DmlView {
  explicit DmlView(const DmlTensor& t)
      : buffer{.DataType = t.type,
               .Flags = static_cast<DML_TENSOR_FLAGS>(t.flags),
               .DimensionCount = static_cast<UINT>(t.sizes.size()),
               .Sizes = t.sizes.data(),
               .Strides = t.strides ? t.strides->data() : nullptr,
               .TotalTensorSizeInBytes = t.bytes ? *t.bytes : t.least_bytes(),
               .GuaranteedBaseOffsetAlignment = t.alignment},
        desc{DML_TENSOR_TYPE_BUFFER, &buffer} {}
  DmlView(const DmlView&) = delete;
  DmlView& operator=(const DmlView&) = delete;

  DML_BUFFER_TENSOR_DESC buffer;
  DML_TENSOR_DESC desc;
};

/// Either operator, by its tensors.
struct DmlNode {
  DML_OPERATOR_TYPE type = DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR;
  DmlTensor input = {};
  DmlTensor scale = {.type = DML_TENSOR_DATA_TYPE_FLOAT32};
  std::optional<DmlTensor> zero_point = DmlTensor{};
  DmlTensor output = {.type = DML_TENSOR_DATA_TYPE_FLOAT32};

  std::vector<const DmlTensor*> inputs() const {
    std::vector<const DmlTensor*> list{&input, &scale};
    if (zero_point) list.push_back(&*zero_point);
    return list;
  }
};

inline Result<directml::Operator> compile(const DmlNode& node,
                                          DML_FEATURE_LEVEL level = DML_FEATURE_LEVEL_6_4) {
  const DmlView input(node.input), scale(node.scale), output(node.output);
  const DmlTensor none;
  const DmlView zero(node.zero_point ? *node.zero_point : none);
  if (node.type == DML_OPERATOR_DEQUANTIZE) {
    const std::array params{scale.desc, zero.desc};
    const DML_DEQUANTIZE_OPERATOR_DESC desc{
        &input.desc,
        node.zero_point ? DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT : DML_QUANTIZATION_TYPE_SCALE,
        node.zero_point ? 2U : 1U, params.data(), &output.desc};
    return directml::compile({node.type, &desc}, level);
  }
  const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC desc{
      &input.desc, &scale.desc, node.zero_point ? &zero.desc : nullptr, &output.desc};
  return directml::compile({node.type, &desc}, level);
}

/// An ELEMENT_WISE node whose tensors are all of these sizes.
inline DmlNode element_wise(const Uints& sizes,
                            DML_TENSOR_DATA_TYPE input = DML_TENSOR_DATA_TYPE_UINT8,
                            DML_TENSOR_DATA_TYPE scale = DML_TENSOR_DATA_TYPE_FLOAT32) {
  DmlNode node;
  node.input = {.type = input, .sizes = sizes};
  node.scale = {.type = scale, .sizes = sizes};
  node.zero_point = node.input;
  node.output = node.scale;
  return node;
}

/// A DEQUANTIZE node whose scale and zero point have sizes of their own.
inline DmlNode dequantize(const Uints& sizes, const Uints& param_sizes,
                          DML_TENSOR_DATA_TYPE input = DML_TENSOR_DATA_TYPE_UINT8,
                          DML_TENSOR_DATA_TYPE scale = DML_TENSOR_DATA_TYPE_FLOAT32) {
  DmlNode node = element_wise(sizes, input, scale);
  node.type = DML_OPERATOR_DEQUANTIZE;
  node.scale.sizes = param_sizes;
  node.zero_point->sizes = param_sizes;
  return node;
}

/// The node is refused as invalid by a message with all these words.
inline void rejects_dml(const char* clause, const DmlNode& node,
                        std::initializer_list<std::string_view> words,
                        ErrorCode code = ErrorCode::invalid_argument) {
  SCOPED_TRACE(clause);
  for (const std::string_view word : words) EXPECT_TRUE(fails(compile(node), code, word));
}

inline void accepts_dml(const char* clause, const DmlNode& node) {
  SCOPED_TRACE(clause);
  EXPECT_TRUE(succeeds(compile(node)));
}

}  // namespace dequant::testing
