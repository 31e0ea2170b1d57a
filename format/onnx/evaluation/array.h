// A tensor of any ONNX type of fixed width, in memory: what nodes between constants read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/onnx/external.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// TensorProto.DataType of types that are no Element, as far as nodes between constants have them.
inline constexpr int32_t kInt64 = 7;
inline constexpr int32_t kBool = 9;
inline constexpr int32_t kDouble = 11;

/// The type and the shape of an Array.
struct ArrayType {
  int32_t data_type = 0;  ///< TensorProto.DataType
  std::vector<int64_t> shape;
};

/// Bytes are packed and little-endian, as in raw_data.
struct Array {
  ArrayType type;
  std::vector<std::byte> bytes;
};

/// Packed bytes of an array. Fails with invalid_argument for a type without a fixed width, and
/// where they are more than int64_t counts.
Result<int64_t> bytes_of(const ArrayType& type);

/// Elements of an array. Fails with invalid_argument where they are more than int64_t counts.
Result<int64_t> count_of(const ArrayType& type);

/// Checks that a stored tensor has the bytes of its shape, without reading them. Fails with
/// malformed where it has not, and with io.
Status check_stored(const Model& model, ExternalFiles& files, const Tensor& tensor);

/// Reads a stored tensor of an Element, int64, double or bool. Fails with unsupported for other
/// types, with limit for more than `most` bytes, and with malformed or io.
Result<Array> read_array(const Model& model, ExternalFiles& files, const Tensor& tensor,
                         int64_t most);

}  // namespace dequant::format::onnx
