// The inputs and attributes of a quantized operator, read as its schema has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/onnx/constants.h"

namespace dequant::format::onnx {

/// Reads a node of a graph. All functions that return a Result fail with malformed or io where the
/// file is broken.
class Operands {
 public:
  Operands(Model& model, ExternalFiles& files, Constants& constants, Graph& graph, Node& node)
      : model_(model), files_(files), constants_(constants), graph_(graph), node_(node) {}

  Model& model() const { return model_; }
  Graph& graph() const { return graph_; }
  Node& node() const { return node_; }
  bool has(size_t input) const { return !node_.input(input).empty(); }
  std::string name(size_t input) const { return node_.input(input).str(); }

  /// The constant of an input, whose bytes exist. Nothing, and reason() is set, where the input is
  /// none that dequant reads.
  Result<std::optional<Constant>> constant(size_t input);

  /// All elements of a constant, at most 64 MiB.
  Result<TensorData> data(const Constant& constant) const;

  /// An integer attribute; `otherwise` where it is absent. Sets reason() where it is none.
  int64_t integer(std::string_view name, std::optional<int64_t> otherwise = {});

  /// A float attribute, likewise.
  float real(std::string_view name, std::optional<float> otherwise = {});

  /// Sets reason(), unless there is one already.
  void refuse(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
  }

  /// Refuses where the model imports an ai.onnx operator set before `since`, or none: the float
  /// operator `type` is in no earlier one as it is needed.
  void need_opset(std::string_view type, int64_t since);

  /// Why the operator stays as it is; empty while nothing speaks against its replacement.
  const std::string& reason() const { return reason_; }

 private:
  /// The attribute; null, and reason() is set, where it is not of that type, or neither it nor
  /// `otherwise` is there.
  const Attribute* attribute(std::string_view name, AttributeType type, bool otherwise);

  Model& model_;
  ExternalFiles& files_;
  Constants& constants_;
  Graph& graph_;
  Node& node_;
  std::string reason_;
};

/// "[4, 2]"
std::string text_of(Shape shape);

/// True for two equal shapes.
bool same_shape(Shape a, Shape b);

}  // namespace dequant::format::onnx
