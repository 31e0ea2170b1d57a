// ONNX models as model files: each DequantizeLinear of constants, and each constant weight of an
// operator that dequantizes it (MatMulNBits ...) or computes with its codes (QLinearConv ...), is a
// dense tensor, as is each constant that nodes only move on its way to a DequantizeLinear; each
// other DequantizeLinear, and each other operator that dequantizes a weight, stays quantized.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "format/model/model_file.h"
#include "format/onnx/code_chain.h"
#include "format/onnx/constants.h"
#include "format/onnx/operators/arithmetic.h"
#include "format/onnx/operators/weights.h"
#include "format/onnx/options.h"
#include "format/onnx/parameters.h"
#include "format/onnx/readers.h"
#include "format/onnx/rewire.h"
#include "format/onnx/share_folds.h"

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
  /// Constants of float64 with raw data in the model: verify() compares their bytes.
  Status visit_rest(const std::function<Status(const RestTensor&)>& visitor) const override;
  Result<std::optional<DenseTensor>> stored(const std::string& name) override;
  Result<std::unique_ptr<StoredReader>> open(const StoredTensor& tensor, int64_t memory) override;
  void for_each_source(const StoredTensor& tensor, const SourceVisitor& visitor) const override;
  Status visit_bounds(const std::function<Status(const BoundTensor&)>& visitor) override;
  Result<std::optional<std::vector<std::byte>>> bound_of(std::string_view value, End end,
                                                         Element type) override;
  Status check_output(const std::string& output) const override;
  std::string instead() const override;
  /// Fails with invalid_argument after a call of visit() or visit_...().
  Result<ConvertReport> write(const std::string& output, const WriteOptions& options) override;

 private:
  OnnxFile(std::unique_ptr<Model> model, Scopes scopes, const Options& own);

  /// Replaces operators of quantized arithmetic with constant codes, or with codes that a node only
  /// moves, as `convert --strip-qdq` does, so that a DequantizeLinear reads these.
  Status expand();
  /// Replaces the other operators of quantized arithmetic, too, for their ranges.
  Status expand_rest();
  Status expand(
      std::function<Result<bool>(const Graph&, const Node&, const ArithmeticOperator&)> wanted);
  bool is_made(const Node& node) const { return operators_.contains(&node); }
  /// The operator of the file that the node replaces, maybe with others; else the node.
  const Node& operator_of(const Node& node) const;

  /// `codes` is the index of the input with the codes.
  TensorFacts facts_of(const Graph& graph, const Node& node, size_t codes = 0) const;
  DenseTensor dense_tensor(std::shared_ptr<const Dequantization> d) const;
  LeftTensor left_tensor(const Graph& graph, const Node& node, std::string reason);
  Status visit_node(Graph& graph, Node& node, const TensorVisitor& visitor);
  Result<std::unordered_set<const Node*>> dense_nodes();
  bool is_moved(const Graph& graph, std::string_view name) const;
  /// Sets moved_ in the first call, behind expand().
  Status plan_moved();
  Status visit_moved(const TensorVisitor& visitor);
  Status visit_weights(Graph& graph, Node& node, const WeightOperator& op,
                       const TensorVisitor& visitor);
  DenseTensor weight_tensor(const Weight& weight);
  bool comes_again(const Weight& weight);
  Result<std::string_view> name_of_weight(const Node& node, size_t codes);
  Status visit_other(const Graph& graph, std::string_view name, const Tensor& tensor,
                     const OtherVisitor& visitor);
  Status visit_float(const Graph& graph, Text name, Constant constant,
                     const TensorVisitor& visitor) const;
  Status visit_double(const Graph& graph, Text name, const Tensor* tensor,
                      const std::function<Status(const RestTensor&)>& visitor) const;
  bool only_quantizers_read(const Graph& graph, std::string_view name) const;
  bool is_evaluated(const Reader& r) const;
  bool is_graph_output(const Graph& graph, std::string_view name) const;
  static DenseTensor copied_tensor(std::shared_ptr<const Constant> constant);
  std::string_view name_of(const Graph& graph) const;
  /// False where one of the inputs that are dequantized is read by this node only: then no other
  /// node has all these inputs.
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
  mutable Constants constants_;  ///< const functions find constants, too, which are kept
  ParameterFinder parameters_;
  std::optional<Rewire> expanded_;  ///< after expand()
  bool all_expanded_ = false;
  /// The operators of the file, by the nodes that replace them.
  std::unordered_map<const Node*, const Node*> operators_;
  // Of bound_of().
  std::optional<QuantizerFacts> facts_;
  std::optional<CodeChains> chains_;
  /// The constants of regions of which --strip-qdq makes floats.
  std::optional<std::vector<std::shared_ptr<const Dequantization>>> moved_;
  /// The names of the constants of weights, by the node and the index of the codes.
  std::map<std::pair<const Node*, size_t>, std::string> weight_names_;
  std::unordered_set<std::string_view> taken_names_;  ///< those of weight_names_
  /// The first of equal weights.
  std::map<DequantizationKey, Weight> first_weights_;
  /// The codes and zero points of QuantizeLinear, DequantizeLinear and weights, sorted.
  std::optional<std::vector<const Tensor*>> known_;
};

}  // namespace dequant::format::onnx
