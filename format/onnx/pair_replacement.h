// Decides what replaces a pair of QuantizeLinear and DequantizeLinear that is removed.
#pragma once

#include <string>

#include "format/onnx/quantizer.h"
#include "format/onnx/rewire.h"
#include "format/onnx/value_range.h"

namespace dequant::format::onnx {

/// Where a Clip keeps the range of a pair that goes.
enum class Clips : uint8_t {
  needed,  ///< where the value before the pair may leave that range
  always,
  never,
};

/// Nothing, or a Clip to the range of the pair; or why the pair stays.
struct PairReplacement {
  bool clip = false;
  PairRange range;
  std::string stays;
};

class PairReplacements {
 public:
  PairReplacements(const Rewire& rewire, QuantizerFacts& facts, ValueRanges& ranges,
                   Constants& constants, Clips clips)
      : rewire_(rewire), facts_(facts), ranges_(ranges), constants_(constants), clips_(clips) {}

  /// Of a QuantizeLinear and those that dequantize what it yields to `output`.
  Result<PairReplacement> of_pair(const Graph& graph, const Node& q, Element output);

  /// Of a DequantizeLinear of an input of the model, which was `quantized` and may be anything
  /// after.
  Result<PairReplacement> of_input(const Graph& graph, const Node& d, Element quantized,
                                   Element output);

 private:
  Result<PairReplacement> choose(const Graph& graph, const Node& node, Element quantized,
                                 Element output, const ValueRange& value);
  Result<bool> is_quantized_already(const Graph& graph, const Node& q);

  const Rewire& rewire_;
  QuantizerFacts& facts_;
  ValueRanges& ranges_;
  Constants& constants_;
  const Clips clips_;
};

}  // namespace dequant::format::onnx
