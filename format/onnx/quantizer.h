// Facts about QuantizeLinear and DequantizeLinear nodes that strip() needs: parameters, types of
// inputs and outputs, and ranges.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/model/report.h"
#include "format/onnx/constants.h"
#include "format/onnx/told_shapes.h"

namespace dequant::format::onnx {

/// The range of the output of a pair of QuantizeLinear and DequantizeLinear: the values of the
/// lowest and the highest code, in the output type of the DequantizeLinear.
struct PairRange {
  std::string unknown;  ///< why the range is not known; empty if it is
  bool single = false;  ///< there is one scale; else each scale has a range
  double low = 0;       ///< [low, high]; with several ranges their intersection
  double high = 0;
  double step = 0;  ///< the distance of neighbours, which is the scale; with several the least
  std::vector<std::byte> low_bytes;  ///< packed; only if `single`
  std::vector<std::byte> high_bytes;
};

/// The lowest and the highest code of a pair with Clip nodes between its nodes; nothing: those of
/// the type.
using CodeLimits = std::optional<std::pair<int64_t, int64_t>>;

/// The limits of a Clip of integers; none where an input is left out.
struct ClipLimits {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

/// Reads facts about nodes. All functions that return a Result fail with malformed or io where the
/// file is broken, and with limit where Model::room is too small.
class QuantizerFacts {
 public:
  QuantizerFacts(Model& model, ExternalFiles& files, const Scopes& scopes, Constants& constants)
      : model_(model),
        files_(files),
        scopes_(scopes),
        constants_(constants),
        told_(model, scopes) {}

  /// Which parameter of a node is not that of the QuantizeLinear before it, as a reason; empty if
  /// both have constant and equal scales, zero points, axes and block sizes.
  Result<std::string> difference(const Graph& qg, const Node& q, const Graph& dg, const Node& d);

  /// True where difference() is empty.
  Result<bool> same_parameters(const Graph& qg, const Node& q, const Graph& dg, const Node& d);

  /// True if both nodes have constant and equal scales and zero points, along whatever axis.
  Result<bool> same_constants(const Graph& qg, const Node& q, const Graph& dg, const Node& d);

  /// True if the node has one scale, which is constant.
  Result<bool> is_per_tensor(const Graph& graph, const Node& node);

  /// Why no Clip has the effect of a pair with the scales of this node: a scale is NaN, infinite or
  /// zero, which turns all numbers into NaN, infinities or zeros. Empty for other scales, and for
  /// scales that are not constant.
  Result<std::string> degenerate_scale(const Graph& graph, const Node& node);

  /// The element type of a name, if the model has it: for inputs, constants and value_info.
  std::optional<Element> type_of(const Graph& graph, std::string_view name) const;

  /// The output type of a DequantizeLinear; float32 where the model does not have it.
  Element output_type(const Graph& graph, const Node& d) const;

  /// The input type of a QuantizeLinear; the type of its scale where the model does not have it.
  std::optional<Element> source_type(const Graph& graph, const Node& q) const;

  /// The output type of a QuantizeLinear.
  Element quantized_type(const Graph& graph, const Node& q) const;

  /// The range of the codes of `quantized` within `limits`, dequantized to `output` with the
  /// parameters of a node.
  Result<PairRange> range(const Graph& graph, const Node& node, Element quantized, Element output,
                          const CodeLimits& limits = {});

  /// The limits of a Clip of integers of a type; nothing where they are no constants.
  Result<std::optional<ClipLimits>> clip_limits(const Graph& graph, const Node& clip, Element type);

  /// The numbers of the scale (input 1) or zero point (input 2) of a node; 0 without a zero point.
  Result<Listed> listed(const Graph& graph, const Node& node, size_t input);

  /// The integers of a constant of int64 or int32, at most 1024; nothing for other values.
  Result<std::optional<std::vector<int64_t>>> integers(const Graph& graph, std::string_view name);

 private:
  Result<std::optional<TensorData>> data_of(const Graph& graph, std::string_view name);
  std::optional<Element> constant_type(const Graph& graph, std::string_view name) const;
  Result<std::string> difference_of_axes(const Graph& qg, const Node& q, const Graph& dg,
                                         const Node& d);
  Result<bool> same_constant(const Graph& ga, std::string_view a, const Graph& gb,
                             std::string_view b);

  const Model& model_;
  ExternalFiles& files_;
  const Scopes& scopes_;
  Constants& constants_;
  ToldShapes told_;
};

}  // namespace dequant::format::onnx
