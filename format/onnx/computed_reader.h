// Reading the output of a QuantizeLinear or DequantizeLinear of constants, range by range.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "format/model/parameter_reader.h"
#include "format/onnx/quantization.h"

namespace dequant::format::onnx {

/// Computes each range from the same range of x.
class ComputedReader : public StoredReader {
 public:
  /// The computation must outlive the reader. Scales and zero points may take `memory` bytes each.
  /// Fails as open_constant() does.
  static Result<std::unique_ptr<StoredReader>> open(const Model& model, ExternalFiles& files,
                                                    const Computation& computation, int64_t memory);

  bool seekable() const override { return x_->seekable(); }
  Status read_at(Range elements, std::span<std::byte> out) const override;
  Status finish() override;

 private:
  ComputedReader(const Computation& computation, int64_t count, std::unique_ptr<StoredReader> x)
      : StoredReader(computation.type().element, count),
        inputs_(computation.inputs),
        quantizes_(computation.quantizes),
        quantizer_(computation.inputs.plan, computation.inputs.division),
        x_(std::move(x)) {}

  Status read_next(Range elements, std::span<std::byte> out) override;
  std::string label() const override;
  template <class ReadX>
  Status compute(Range elements, std::span<std::byte> out, ReadX&& read_x) const;

  const Dequantization& inputs_;
  const bool quantizes_;
  const Quantizer quantizer_;
  std::unique_ptr<StoredReader> x_;
  std::optional<ParameterReader> scale_;
  std::optional<ParameterReader> zero_;
};

}  // namespace dequant::format::onnx
