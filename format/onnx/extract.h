// Finding one tensor of a model, and streaming it out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "format/onnx/dequantization.h"
#include "format/onnx/stream.h"

namespace dequant::format::onnx {

/// A tensor to take out of a model: the result of a dequantization, or a constant as it is.
struct Extraction {
  std::string name;
  std::optional<Dequantization> dequantization;
  const Tensor* stored = nullptr;

  TensorType type() const;
};

/// A model open for taking tensors out.
class Extractor {
 public:
  static Result<std::unique_ptr<Extractor>> open(const std::string& path);

  /// The tensor that `name` names: the output, the node or the x of a DequantizeLinear of constants,
  /// or a constant. With `raw`, the stored codes. Fails with invalid_argument when nothing, or more
  /// than one thing, has that name.
  Result<Extraction> find(const std::string& name, bool raw);

  /// The results of all DequantizeLinear of constants; with `raw` what they dequantize.
  Result<std::vector<Extraction>> all(bool raw);

  /// Hands the packed bytes to the sink in order.
  Status write(const Extraction& what, const StreamOptions& options, const Sink& sink);

 private:
  explicit Extractor(std::unique_ptr<Model> model)
      : model_(std::move(model)), files_(model_->path) {}
  Status collect();

  std::unique_ptr<Model> model_;
  ExternalFiles files_;
  std::optional<Scopes> scopes_;
  std::vector<Dequantization> dequantizations_;
};

}  // namespace dequant::format::onnx
