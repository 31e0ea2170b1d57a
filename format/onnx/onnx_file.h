// ONNX models as model files: each DequantizeLinear of constants is a dense tensor; each other
// DequantizeLinear stays quantized.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "format/model/model_file.h"
#include "format/onnx/constants.h"
#include "format/onnx/options.h"
#include "format/onnx/parameters.h"

namespace dequant::format::onnx {

/// An open ONNX model; see ModelFile for its functions.
class OnnxFile : public ModelFile {
 public:
  /// See Format::open.
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path,
                                                 const OpenOptions& options);

  nlohmann::ordered_json facts() const override;
  Headline headline() const override;
  Status visit(const TensorVisitor& visitor) override;
  Status visit_others(const OtherVisitor& visitor) override;
  Status visit_floats(const TensorVisitor& visitor) override;
  Result<std::optional<DenseTensor>> stored(const std::string& name) override;
  Result<std::unique_ptr<StoredReader>> open(const StoredTensor& tensor, int64_t memory) override;
  void for_each_source(const StoredTensor& tensor, const SourceVisitor& visitor) const override;
  Status check_output(const std::string& output) const override;
  std::string instead() const override;
  Result<ConvertReport> write(const std::string& output, const WriteOptions& options) override;

 private:
  OnnxFile(std::unique_ptr<Model> model, Scopes scopes, const Options& own);

  TensorFacts facts_of(const Graph& graph, const Node& node) const;
  DenseTensor dense_tensor(std::shared_ptr<const Dequantization> d) const;
  LeftTensor left_tensor(const Graph& graph, const Node& node, std::string reason);
  Status visit_node(Graph& graph, Node& node, const TensorVisitor& visitor);
  Status visit_other(const Graph& graph, std::string_view name, const Tensor& tensor,
                     const OtherVisitor& visitor);
  Status visit_float(const Graph& graph, Text name, Constant constant,
                     const TensorVisitor& visitor) const;
  bool only_quantizers_read(const Graph& graph, std::string_view name) const;
  static DenseTensor copied_tensor(std::shared_ptr<const Constant> constant);
  std::string_view name_of(const Graph& graph) const;
  /// False where one of the inputs is read by this node only: then no other node has all its
  /// inputs.
  bool may_come_again(const Graph& graph, const Node& node) const;
  /// The tensor that a name resolves to; null where it is no constant, or floats of an attribute.
  const Tensor* tensor_of(const Graph& graph, std::string_view name) const;
  /// Sets known_ in the first call.
  void know_codes_and_zero_points();
  bool is_other(const Tensor& tensor) const;
  Result<std::optional<Constant>> constant(const std::string& name) const;

  std::unique_ptr<Model> model_;
  Scopes scopes_;
  const Options own_;
  ExternalFiles files_;
  /// With assume_const: initializers count, although a caller could override those that are inputs.
  Constants constants_;
  ParameterFinder parameters_;
  /// The codes and zero points of QuantizeLinear and DequantizeLinear, sorted.
  std::optional<std::vector<const Tensor*>> known_;
};

}  // namespace dequant::format::onnx
