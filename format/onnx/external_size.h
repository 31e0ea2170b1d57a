// The size of a tensor's data in a file.
#pragma once

#include "dequant/status.h"
#include "format/io/file.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Bits of an element of a TensorProto.DataType; 0 where the type is unknown or has no fixed width.
int element_bits(int64_t data_type);

/// The bytes of a tensor's data as raw_data, by its shape and type. Fails with malformed for
/// strings, which raw_data cannot have, and with unsupported for a type of unknown width.
Result<int64_t> raw_bytes(const Tensor& tensor);

/// The range of `file` that has the `needed` bytes of a tensor's data, by its external_data
/// entries. Fails with malformed when the file is shorter, or when the entries have a length other
/// than `needed`.
Result<Span> span_in(const InputFile& file, const External& external, int64_t needed);

}  // namespace dequant::format::onnx
