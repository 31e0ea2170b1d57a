// The data of a constant, a part at a time, whether it is a tensor or an attribute.
#pragma once

#include <span>
#include <vector>

#include "format/onnx/dequantization.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {

/// Reads a constant once from front to back.
class ConstantReader {
 public:
  /// Fails as TensorReader::open() does. The constant must outlive the reader.
  static Result<ConstantReader> open(const Model& model, ExternalFiles& files,
                                     const Constant& constant);

  Element element() const { return element_; }
  int64_t left() const { return count_ - done_; }  ///< elements

  /// The packed bytes of the next elements: a multiple of 8, or all that are left.
  Result<std::span<const std::byte>> next(int64_t count);

  /// Call after the last part.
  Status finish() { return reader_ ? reader_->finish() : Status{}; }

 private:
  ConstantReader() = default;

  Element element_ = Element::float32;
  int64_t count_ = 0;
  int64_t done_ = 0;
  std::span<const std::byte> literal_;  ///< what is left of it
  std::optional<TensorReader> reader_;
  std::vector<std::byte> part_;
};

}  // namespace dequant::format::onnx
