// Decides what replaces a pair of QuantizeLinear and DequantizeLinear that is removed.
#pragma once

#include <string>

#include "format/onnx/quantizer.h"
#include "format/onnx/rewire.h"
#include "format/onnx/value_range.h"

namespace dequant::format::onnx {

/// Where a Clip with the range of the pair replaces a removed pair.
enum class Clips : uint8_t {
  needed,  ///< where the value before the pair may be outside of that range
  always,
  never,
};

/// The replacement of a pair: nothing, or a Clip to its range; or why the pair stays.
struct PairReplacement {
  bool clip = false;
  PairRange range;
  CodeLimits limits;  ///< of the pair
  std::string stays;  ///< empty: the pair is removed
};

/// Decides on pairs. All functions fail with malformed, limit or io.
class PairReplacements {
 public:
  PairReplacements(const Rewire& rewire, QuantizerFacts& facts, ValueRanges& ranges,
                   Constants& constants, Clips clips)
      : rewire_(rewire), facts_(facts), ranges_(ranges), constants_(constants), clips_(clips) {}

  /// For a QuantizeLinear and the DequantizeLinear nodes of its output within `limits`, whose type
  /// is `output`.
  Result<PairReplacement> of_pair(const Graph& graph, const Node& q, Element output,
                                  const CodeLimits& limits = {});

  /// For a DequantizeLinear of an input of the model. The input had the type `quantized`; a float
  /// input may have any value.
  Result<PairReplacement> of_input(const Graph& graph, const Node& d, Element quantized,
                                   Element output);

 private:
  Result<PairReplacement> choose(const Graph& graph, const Node& node, Element quantized,
                                 Element output, const ValueRange& value,
                                 const CodeLimits& limits = {});
  Result<bool> is_quantized_already(const Graph& graph, const Node& q);

  const Rewire& rewire_;
  QuantizerFacts& facts_;
  ValueRanges& ranges_;
  Constants& constants_;
  const Clips clips_;
};

}  // namespace dequant::format::onnx
