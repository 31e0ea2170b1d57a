// What is known of the numbers that a name of a graph stands for, without running the model:
// bounds, and whether they are constant.
#pragma once

#include <limits>
#include <string_view>
#include <unordered_map>

#include "format/onnx/constants.h"
#include "format/onnx/parameters.h"

namespace dequant::format::onnx {

/// Bounds of numbers, NaN apart.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool open_above =
      false;  ///< without an upper bound behind a Relu, or a Clip with a lower limit alone
  bool constant = false;  ///< computed from constants alone
};

/// Finds bounds through operators that have some. Each value is looked at once, as the graph is
/// then.
class ValueRanges {
 public:
  ValueRanges(Model& model, ExternalFiles& files, const Scopes& scopes, Constants& constants)
      : model_(model),
        files_(files),
        scopes_(scopes),
        constants_(constants),
        parameters_(model, files, scopes, constants) {}

  /// Fails where the file is broken, and with limit where the structure leaves no memory for more
  /// values.
  Result<ValueRange> of(const Graph& graph, std::string_view name);

  /// From here on a node's output has this range, whatever its operator.
  void set(const Graph& graph, std::string_view output, const ValueRange& range);

 private:
  struct Known {
    ValueRange range;
    bool measured = true;  ///< false: nobody asked for the bounds of this constant or pair
  };

  Result<Known> look_at(const Definition& d);
  Result<Known> of_node(const Definition& d);
  Result<ValueRange> measured(const Definition& d);
  Result<ValueRange> of_operator(const Graph& graph, const Node& node);
  Result<ValueRange> of_several(const Graph& graph, const Node& node);
  Result<ValueRange> of_clip(const Graph& graph, const Node& node);
  Result<ValueRange> of_pad(const Graph& graph, const Node& node);
  Result<ValueRange> of_dequantized(Graph& graph, Node& node);
  Result<ValueRange> measured(const Constant& constant);
  Result<ValueRange> bounds(const Definition& d);
  Result<ValueRange> input(const Graph& graph, const Node& node, size_t i);

  Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  Constants& constants_;
  ParameterFinder parameters_;
  std::unordered_map<const Definition*, Known> known_;
};

}  // namespace dequant::format::onnx
