// The data of a tensor as packed bytes, wherever the model keeps it: raw_data, a typed field, or
// another file.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dequant/tensor.h"
#include "format/io/tensor_data.h"
#include "format/onnx/external.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Reads a tensor once from front to back, or any part of it where the storage allows. Readers of one model
/// may be at work on several threads.
class TensorReader {
 public:
  /// Proves that the stored bytes are those of the shape. Fails with malformed when they are not, with
  /// unsupported for a type that dequant does not read.
  static Result<TensorReader> open(const Source& source, ExternalFiles& files,
                                   const Tensor& tensor);

  Element element() const { return element_; }
  int64_t count() const { return count_; }  ///< elements
  int64_t bytes() const { return bytes_; }  ///< packed

  /// True if read_at() works: the bytes lie in a file as they are.
  bool seekable() const { return file_ != nullptr; }

  /// Fills `out` with the packed bytes from `offset` on. From any thread. Fails with malformed for a wrong checksum.
  Status read_at(int64_t offset, std::span<std::byte> out) const;

  /// Fills `out` with the next packed bytes.
  Status read(std::span<std::byte> out);

  /// Call after the last read: that a typed field holds no more, and that the file is as it was.
  Status finish();

 private:
  TensorReader(const Source& source, const Tensor& tensor) : source_(&source), tensor_(&tensor) {}
  Status place(ExternalFiles& files);
  Status next_value(uint32_t& code, bool& more);

  const Source* source_;
  const Tensor* tensor_;
  Element element_ = Element::float32;
  int64_t count_ = 0;
  int64_t bytes_ = 0;
  int64_t position_ = 0;

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
