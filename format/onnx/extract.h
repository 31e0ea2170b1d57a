// Finding one tensor of a model, and streaming it out or reading it into memory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/onnx/dequantization.h"
#include "format/onnx/stream.h"

namespace dequant::format::onnx {

/// A tensor to take out of a model: the result of a dequantization, or a constant as it is.
struct Extraction {
  std::string name;
  std::optional<Dequantization> dequantization;
  std::optional<Constant> stored;

  TensorType type() const;
};

/// A model open for taking tensors out. After open() any number of threads may do so.
class Extractor {
 public:
  static Result<std::unique_ptr<Extractor>> open(const std::string& path, StructureLimit limit = {},
                                                 Checksums checksums = Checksums::verify);

  /// The tensor that `name` names: the output, the node or the x of a DequantizeLinear of constants,
  /// or a constant. With `raw`, the stored codes. Fails with invalid_argument when nothing, or more
  /// than one thing, has that name.
  Result<Extraction> find(const std::string& name, bool raw);

  /// The results of all DequantizeLinear of constants; with `raw` what they dequantize. Fails with
  /// unsupported where there are none, and says what quantized operators there are.
  Result<std::vector<Extraction>> all(bool raw);

  /// Fails with io where the output would take the place of the model or its data.
  Status check_output(const std::string& output) const;

  /// Hands the packed bytes to the sink in order.
  Status write(const Extraction& what, const StreamOptions& options, const Sink& sink);

  /// All DequantizeLinear of constants, in the order of the file.
  const std::vector<Dequantization>& dequantizations() const { return dequantizations_; }

  /// The index among them of that whose output, node or x has the name. Fails as find() does, and for
  /// constants that nobody dequantizes.
  Result<size_t> index_of(const std::string& name) const;

  /// Computes an output into memory of just its size. `d` may be a copy whose plan has another output.
  Status read(const Dequantization& d, const StreamOptions& options, std::span<std::byte> y);

  /// Reads the packed bytes of a constant into memory of just their size.
  Status read(const Constant& constant, std::span<std::byte> bytes);

 private:
  /// Of each name, indices of dequantizations_.
  using Index = std::unordered_map<std::string_view, std::vector<size_t>>;

  Extractor(std::unique_ptr<Model> model, Checksums checksums)
      : model_(std::move(model)), files_(model_->path, checksums) {}
  Status collect();
  void add(Dequantization d);
  void add_other(const Node& node, const std::string& reason);
  /// The indices of those that a name means.
  std::vector<size_t> named(const std::string& name) const;
  Error several(const std::string& name, const std::vector<size_t>& found) const;
  Error missing(const std::string& name) const;
  Error none() const;
  /// The constant of that name in the main graph, or else in any; fails where it is not one.
  Result<std::optional<Constant>> other_constant(const std::string& name) const;

  std::unique_ptr<Model> model_;
  ExternalFiles files_;
  std::optional<Scopes> scopes_;
  std::vector<Dequantization> dequantizations_;
  Index by_output_;
  Index by_node_;
  Index by_x_;
  /// Of the names of a DequantizeLinear that is not of constants, why.
  std::unordered_map<std::string_view, std::string> reasons_;
};

}  // namespace dequant::format::onnx
