// The data of a tensor as packed bytes, wherever the model keeps it: raw_data, a typed field, or
// another file.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dequant/tensor.h"
#include "format/io/tensor_data.h"
#include "format/model/stored_reader.h"
#include "format/onnx/external.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Reads a tensor once from front to back, or any part of it where the bytes lie in a file as they
/// are. Readers of one model may be at work on several threads.
class TensorReader : public StoredReader {
 public:
  /// Proves that the stored bytes are those of the shape. Fails with malformed when they are not,
  /// with unsupported for a type that dequant does not read.
  static Result<TensorReader> open(const Source& source, ExternalFiles& files,
                                   const Tensor& tensor);

  int64_t bytes() const { return bytes_; }  ///< packed

  bool seekable() const override { return file_ != nullptr; }
  /// Fails with malformed for a wrong checksum.
  Status read_at(Range elements, std::span<std::byte> out) const override;
  Status finish() override;

 private:
  TensorReader(const Source& source, const Tensor& tensor) : source_(&source), tensor_(&tensor) {}
  Status locate(ExternalFiles& files);
  Status read_next(Range elements, std::span<std::byte> out) override;
  std::string label() const override;
  Status next_value(uint32_t& code, bool& more);

  const Source* source_;
  const Tensor* tensor_;
  int64_t bytes_ = 0;

  ExternalFiles* files_ = nullptr;   ///< of a tensor with a checksum
  const InputFile* file_ = nullptr;  ///< raw bytes: where they are
  std::shared_ptr<const InputFile> external_;
  int64_t start_ = 0;

  bool typed_ = false;              ///< typed fields: where the walk stands
  std::unique_ptr<Source> window_;  ///< made by the first read
  std::optional<Cursor> cursor_;
  Field field_;
  int64_t packed_at_ = 0;
  int64_t packed_end_ = 0;
};

/// The whole tensor. Fails with limit when it takes more than `max_bytes`.
Result<TensorData> read_tensor_data(const Source& source, ExternalFiles& files,
                                    const Tensor& tensor, int64_t max_bytes);

}  // namespace dequant::format::onnx
