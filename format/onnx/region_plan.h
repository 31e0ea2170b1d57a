// Deciding whether a region of quantized numbers becomes float, and what takes its place.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "format/onnx/moving.h"
#include "format/onnx/pair_replacement.h"
#include "format/onnx/region.h"
#include "format/onnx/region_axes.h"
#include "format/onnx/save.h"

namespace dequant::format::onnx {

/// The float type of a region and what replaces its nodes, or why it stays quantized.
struct RegionPlan {
  std::string obstacle;  ///< empty: it becomes float
  Element type = Element::float32;
  /// Of each value and constant, where each slice along an axis has a scale of its own.
  std::map<const Definition*, int64_t> axes;
  std::vector<PairReplacement> quantize;  ///< of each QuantizeLinear
  PairReplacement input;  ///< of each DequantizeLinear, where the codes are an input of the model
  /// The names of the floats of constants, by the definitions of the codes.
  std::map<const Definition*, std::string> names;
  std::deque<Fold> folds;  ///< these floats
};

/// Plans regions. All must hold: one scale and zero point, or those of slices that all nodes keep;
/// one float type; nodes that move floats as they move codes; and no numbers that other nodes read
/// or make quantized.
class RegionPlanner {
 public:
  /// `dtype` is the type that folded constants get; none: their own.
  RegionPlanner(Model& model, Constants& constants, Rewire& rewire, QuantizerFacts& facts,
                PairReplacements& replacements, std::optional<Element> dtype)
      : model_(model),
        constants_(constants),
        rewire_(rewire),
        facts_(facts),
        replacements_(replacements),
        dtype_(dtype),
        axes_(model, constants, rewire, facts) {}

  /// The plan of a region with a QuantizeLinear or a DequantizeLinear. Changes nothing in the
  /// model. Fails with malformed, limit or io.
  Result<RegionPlan> plan(const Region& region);

 private:
  Status check_parameters(const Region& region, const Place& one, RegionPlan& plan);
  Status check_slices(const Region& region, const Place& one, RegionPlan& plan);
  Status check_moves(const Region& region, const Place& one, RegionPlan& plan);
  Status check_ends(const Region& region, const Place& one, RegionPlan& plan);
  Status plan_fold(const Region& region, const MovedConstant& c, RegionPlan& plan);
  Node& dequantize_of(const Node& d, Text codes, std::optional<int64_t> axis,
                      std::string_view output);

  Model& model_;
  Constants& constants_;
  Rewire& rewire_;
  QuantizerFacts& facts_;
  PairReplacements& replacements_;
  const std::optional<Element> dtype_;
  RegionAxisFinder axes_;
};

}  // namespace dequant::format::onnx
