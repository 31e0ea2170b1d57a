// Reading the scales and zero points of a DequantizeLinear whose x is computed.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "format/onnx/constants.h"
#include "format/profile/parameters.h"

namespace dequant::format::onnx {

/// Finds the parameters of the nodes of a model.
class ParameterFinder {
 public:
  ParameterFinder(const Model& model, ExternalFiles& files, const Scopes& scopes,
                  Constants& constants)
      : model_(model), files_(files), scopes_(scopes), constants_(constants) {}

  /// Nothing where a scale or zero point is not constant, or of a type that no DequantizeLinear
  /// takes. Fails where the file is broken.
  Result<std::optional<Parameters>> find(const Graph& graph, const Node& node);

 private:
  Result<std::optional<Element>> type_of_x(const Graph& graph, const Node& node);

  const Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  Constants& constants_;
  /// Nodes may share scales; many of them are read once for each type of x and of the output.
  using Key = std::tuple<const void*, const void*, std::optional<Element>, Element>;
  std::map<Key, Parameters> found_;
};

}  // namespace dequant::format::onnx
