// Bounds of the values of a graph, found without running the model.
#pragma once

#include <limits>
#include <string_view>
#include <unordered_map>

#include "format/onnx/constants.h"
#include "format/onnx/parameters.h"

namespace dequant::format::onnx {

/// Bounds of numbers that are not NaN.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  /// There is no upper bound, but a lower one: of a Relu, or of a Clip with a lower limit alone.
  bool open_above = false;
  /// Of `open_above`: the upper bound of those numbers that come from a value that has one, joined
  /// with others.
  double bounded_high = -std::numeric_limits<double>::infinity();
  bool constant = false;  ///< computed from constants alone
};

/// Computes bounds of values from constants, and through operators that have bounds. The bounds of
/// each value are computed once, from the graph at that time.
class ValueRanges {
 public:
  ValueRanges(Model& model, ExternalFiles& files, const Scopes& scopes, Constants& constants)
      : model_(model),
        files_(files),
        scopes_(scopes),
        constants_(constants),
        parameters_(model, files, scopes, constants) {}

  /// The bounds of a value, infinite where nothing is known. Fails with malformed or io where a
  /// constant cannot be read, and with limit where Model::room is too small.
  Result<ValueRange> of(const Graph& graph, std::string_view name);

  /// Forgets the bounds of a value, which is computed from other values than before.
  void forget(const Graph& graph, std::string_view name) {
    known_.erase(scopes_.find(graph, name));
  }

  /// Sets the range of a node's output, whatever its operator.
  void set(const Graph& graph, std::string_view output, const ValueRange& range);

 private:
  struct Known {
    ValueRange range;
    bool measured = true;  ///< false: the bounds of this constant or pair are not computed yet
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
