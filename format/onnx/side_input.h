// Scales or zero points of a tensor that is computed in parts.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "format/onnx/constant_reader.h"

namespace dequant::format::onnx {

/// Held whole while they are few, read by part where the storage allows.
class SideInput {
 public:
  static Result<SideInput> open(const Model& model, ExternalFiles& files, const Constant& constant,
                                int64_t max_bytes);

  bool held_whole() const { return whole_.has_value(); }

  /// The packed bytes of the entries in `range`, which starts on a byte; `slice` may hold them. From
  /// any thread.
  Result<std::span<const std::byte>> get(Element element, Range range,
                                         std::vector<std::byte>& slice) const;

  Status finish() { return reader_ ? reader_->finish() : Status{}; }

 private:
  std::optional<TensorData> whole_;
  std::optional<ConstantReader> reader_;
  int64_t max_bytes_ = 0;
};

}  // namespace dequant::format::onnx
