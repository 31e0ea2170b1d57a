// The data of a constant, a part at a time, whether it is a tensor, an attribute or computed.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "format/onnx/dequantization.h"
#include "format/onnx/tensor_reader.h"

namespace dequant::format::onnx {

class ComputedReader;

/// Reads a constant once from front to back, or any part of it where the storage allows.
class ConstantReader {
 public:
  /// Fails as TensorReader::open() does. The constant must outlive the reader. Scales and zero points that
  /// a computed constant needs take `memory` bytes at most.
  static Result<ConstantReader> open(const Model& model, ExternalFiles& files,
                                     const Constant& constant, int64_t memory);

  ConstantReader(ConstantReader&&) noexcept;
  ConstantReader& operator=(ConstantReader&&) noexcept;
  ~ConstantReader();

  Element element() const { return element_; }
  int64_t left() const { return count_ - done_; }  ///< elements

  /// True if read_at() works.
  bool seekable() const;

  /// Fills `out` with the packed bytes of a range that starts at a multiple of 8. From any thread.
  Status read_at(Range elements, std::span<std::byte> out) const;

  /// Fills `out` with the packed bytes of the next elements: a multiple of 8, or all that are left.
  Status read(int64_t count, std::span<std::byte> out);

  /// The same in memory of its own.
  Result<std::span<const std::byte>> next(int64_t count);

  /// Call after the last part.
  Status finish();

 private:
  ConstantReader();

  Element element_ = Element::float32;
  int64_t count_ = 0;
  int64_t done_ = 0;
  std::span<const std::byte> literal_;
  std::optional<TensorReader> tensor_;
  std::unique_ptr<ComputedReader> computed_;
  std::vector<std::byte> part_;
};

/// All of a constant. Fails with limit when it takes more than `max_bytes`.
Result<TensorData> read_constant(const Model& model, ExternalFiles& files, const Constant& constant,
                                 int64_t max_bytes);

}  // namespace dequant::format::onnx
