// Statistics of the constant scales and zero points of nodes whose x is computed.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "format/onnx/constants.h"
#include "format/profile/parameters.h"

namespace dequant::format::onnx {

/// Computes Parameters of nodes of a model, and keeps those of many scales for later calls.
class ParameterFinder {
 public:
  ParameterFinder(const Model& model, ExternalFiles& files, const Scopes& scopes,
                  Constants& constants)
      : model_(model), files_(files), scopes_(scopes), constants_(constants) {}

  /// The parameters of a DequantizeLinear. Returns nothing where a scale or zero
  /// point is not constant, or has a type that no DequantizeLinear allows. Fails with malformed or
  /// io where the file is broken.
  Result<std::optional<Parameters>> find(const Graph& graph, const Node& node);

 private:
  Result<std::optional<Element>> type_of_x(const Graph& graph, const Node& node);

  const Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  Constants& constants_;
  /// Nodes may share scales. Many scales are read once for each pair of types of x and output.
  using Key = std::tuple<const void*, const void*, std::optional<Element>, Element>;
  std::map<Key, Parameters> found_;
};

}  // namespace dequant::format::onnx
