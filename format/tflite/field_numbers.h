// The numbers of fields and the numbers of unions by the names of TFLite's schema, lower case:
// field::tensor::shape is the number of Tensor.shape. Only those that dequant reads.
#pragma once

#include <cstdint>

namespace dequant::format::tflite::field {

namespace model {
inline constexpr uint16_t version = 0;
inline constexpr uint16_t operator_codes = 1;
inline constexpr uint16_t subgraphs = 2;
inline constexpr uint16_t description = 3;
inline constexpr uint16_t buffers = 4;
inline constexpr uint16_t metadata = 6;
}  // namespace model

namespace operator_code {
inline constexpr uint16_t deprecated_builtin_code = 0;
inline constexpr uint16_t custom_code = 1;
inline constexpr uint16_t builtin_code = 3;
}  // namespace operator_code

namespace subgraph {
inline constexpr uint16_t tensors = 0;
inline constexpr uint16_t inputs = 1;
inline constexpr uint16_t outputs = 2;
inline constexpr uint16_t operators = 3;
inline constexpr uint16_t name = 4;
}  // namespace subgraph

namespace tensor {
inline constexpr uint16_t shape = 0;
inline constexpr uint16_t type = 1;
inline constexpr uint16_t buffer = 2;
inline constexpr uint16_t name = 3;
inline constexpr uint16_t quantization = 4;
inline constexpr uint16_t sparsity = 6;
inline constexpr uint16_t external_buffer = 10;
}  // namespace tensor

namespace quantization {
inline constexpr uint16_t scale = 2;
inline constexpr uint16_t zero_point = 3;
inline constexpr uint16_t details_type = 4;
inline constexpr uint16_t details = 5;
inline constexpr uint16_t quantized_dimension = 6;
}  // namespace quantization

/// The values of details_type.
namespace details {
inline constexpr uint8_t none = 0;
inline constexpr uint8_t custom = 1;
inline constexpr uint8_t blockwise = 2;
inline constexpr uint8_t multi_axis = 3;
}  // namespace details

namespace blockwise {
inline constexpr uint16_t scales = 0;
inline constexpr uint16_t zero_points = 1;
inline constexpr uint16_t block_size = 2;
inline constexpr uint16_t block_shape = 3;
}  // namespace blockwise

namespace buffer {
inline constexpr uint16_t data = 0;
inline constexpr uint16_t offset = 1;
inline constexpr uint16_t size = 2;
}  // namespace buffer

namespace operation {
inline constexpr uint16_t opcode_index = 0;
inline constexpr uint16_t inputs = 1;
inline constexpr uint16_t outputs = 2;
}  // namespace operation

namespace metadata {
inline constexpr uint16_t name = 0;
inline constexpr uint16_t buffer = 1;
}  // namespace metadata

}  // namespace dequant::format::tflite::field
