// What a QuantizeLinear or DequantizeLinear makes of constants, a part at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "format/onnx/quantization.h"
#include "format/onnx/side_input.h"

namespace dequant::format::onnx {

class ComputedReader {
 public:
  /// The computation must outlive the reader.
  static Result<std::unique_ptr<ComputedReader>> open(const Model& model, ExternalFiles& files,
                                                      const Computation& computation,
                                                      int64_t memory);

  /// True if read_at() works.
  bool seekable() const { return x_.seekable(); }

  /// Fills `out` with the packed bytes of a range that starts at a multiple of 8. From any thread.
  Status read_at(Range elements, std::span<std::byte> out) const;

  /// The same for the range that follows the one before.
  Status read(Range elements, std::span<std::byte> out);

  /// Call after the last part.
  Status finish();

 private:
  ComputedReader(const Computation& computation, ConstantReader x)
      : inputs_(computation.inputs),
        quantizes_(computation.quantizes),
        quantizer_(computation.inputs.plan),
        x_(std::move(x)) {}

  template <class ReadX>
  Status compute(Range elements, std::span<std::byte> out, ReadX&& read_x) const;

  const Dequantization& inputs_;
  const bool quantizes_;
  const Quantizer quantizer_;
  ConstantReader x_;
  std::optional<SideInput> scale_;
  std::optional<SideInput> zero_;
};

}  // namespace dequant::format::onnx
