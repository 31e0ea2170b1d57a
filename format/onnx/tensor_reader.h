// Reading the data of a tensor as packed bytes: from raw_data, a typed field, or an external file.
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

/// Reads a tensor once from front to back, or any range of raw data in a file. Different threads
/// may use different readers of one model at once.
class TensorReader : public StoredReader {
 public:
  /// Opens the data, and checks that its length is that of the shape. Fails with malformed when it
  /// is not, with unsupported for a type that dequant does not read, and with io.
  static Result<TensorReader> open(const Source& source, ExternalFiles& files,
                                   const Tensor& tensor);

  int64_t bytes() const { return bytes_; }  ///< of the packed tensor

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
  const InputFile* file_ = nullptr;  ///< the file of raw data
  std::shared_ptr<const InputFile> external_;
  int64_t start_ = 0;

  bool typed_ = false;  ///< the data is in a typed field; the members below are its read position
  std::unique_ptr<Source> window_;  ///< allocated by the first read
  std::optional<Cursor> cursor_;
  Field field_;
  int64_t packed_at_ = 0;
  int64_t packed_end_ = 0;
};

/// Reads a whole tensor. Fails with limit when it takes more than `max_bytes`, and as TensorReader
/// does.
Result<TensorData> read_tensor_data(const Source& source, ExternalFiles& files,
                                    const Tensor& tensor, int64_t max_bytes);

}  // namespace dequant::format::onnx
