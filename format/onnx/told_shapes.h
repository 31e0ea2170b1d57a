// The shapes of values, as far as a model tells them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/onnx/model.h"
#include "format/onnx/scope.h"

namespace dequant::format::onnx {

/// The sizes of dimensions, outermost first; kUnknownSize where the model does not tell one.
using Sizes = std::vector<int64_t>;
inline constexpr int64_t kUnknownSize = -1;
/// Dimensions at most of a shape that is looked at.
inline constexpr size_t kMostDimensions = 64;

/// The shape that a value tells; nothing where it tells none, or more than kMostDimensions. Fails
/// with malformed or io.
Result<std::optional<Sizes>> told_shape(const Model& model, const Value& value);

/// Reads shapes of graph inputs, graph outputs and value_info.
class ToldShapes {
 public:
  ToldShapes(Model& model, const Scopes& scopes) : model_(model), scopes_(scopes) {}

  /// The shape of a value as visible in `graph`; nothing where the model does not tell it, or tells
  /// more than kMostDimensions. Fails with malformed or io, and with limit where Model::room is too
  /// small.
  Result<std::optional<Sizes>> of(const Graph& graph, std::string_view name);

 private:
  using Values = std::unordered_map<std::string_view, const Value*>;

  Result<const Values*> values_of(const Graph& graph);

  Model& model_;
  const Scopes& scopes_;
  std::unordered_map<const Graph*, Values> values_;
};

}  // namespace dequant::format::onnx
