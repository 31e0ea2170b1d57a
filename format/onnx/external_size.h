// How many bytes of a file the data of a tensor takes.
#pragma once

#include "dequant/status.h"
#include "format/io/file.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Bytes that the data of a tensor takes where it is stored as it is, by shape and type. Fails with
/// malformed for texts, which are never stored so; with unsupported for a type of unknown width.
Result<int64_t> raw_bytes(const Tensor& tensor);

/// The bytes of `file` that `needed` bytes of data take by their entries of external_data. Files
/// may be longer; fails with malformed when they are shorter, or when the entries have another
/// length.
Result<Span> span_in(const InputFile& file, const External& external, int64_t needed);

}  // namespace dequant::format::onnx
