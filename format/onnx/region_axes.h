// The axis along which the slices of a region have scales of their own, followed through the nodes
// that move the slices.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "format/onnx/kept_axes.h"
#include "format/onnx/region.h"

namespace dequant::format::onnx {

/// The axis of the scales in each value and constant of a region, counted from the front.
struct RegionAxes {
  std::map<const Definition*, int64_t> of;
  std::string obstacle;  ///< why not all are known, or why nodes have others; empty: nothing
};

/// Follows the axis of one region after another.
class RegionAxisFinder {
 public:
  RegionAxisFinder(Model& model, Constants& constants, const Rewire& rewire, QuantizerFacts& facts)
      : model_(model),
        constants_(constants),
        rewire_(rewire),
        facts_(facts),
        told_(model, rewire.scopes()) {}

  /// The axes of a region whose nodes have `slices` scales each, along one axis. Fails with
  /// malformed or io, and with limit where Model::room is too small.
  Result<RegionAxes> find(const Region& region, int64_t slices);

 private:
  /// A value with numbers of the region.
  struct End {
    const Graph* graph = nullptr;
    Text name;
    const Definition* definition = nullptr;  ///< null: there is none
  };
  /// A move from an input of a node to an output; ArgMax and ArgMin have no output with numbers.
  struct Link {
    const Place* place;
    End in;
    End out;
    bool crossed = false;
  };

  Status link(const Region& region);
  Status follow(const Region& region);
  Status start(const Region& region);
  Status cross(Link& link);
  Status check_nodes(const Region& region);
  Result<int64_t> axis_of(const Place& place);
  void assign(const Link& link, const End& end, int64_t axis);
  bool fits(Sizes& sizes, const End& end, int64_t axis);
  Result<std::optional<Sizes>> shape_of(const End& end, int depth = 0);
  Result<std::optional<Sizes>> told_shape(const End& end);
  End end_of(const Graph& graph, Text name) const;
  End end_of(const Place& place) const;

  Model& model_;
  Constants& constants_;
  const Rewire& rewire_;
  QuantizerFacts& facts_;
  ToldShapes told_;
  // Of the region at hand:
  int64_t slices_ = 0;
  RegionAxes axes_;
  std::vector<Link> links_;
  std::map<const Definition*, std::vector<size_t>> links_of_;
  std::map<const Definition*, const Place*> dequantized_;
  std::map<const Definition*, std::optional<Sizes>> shapes_;
  std::vector<const Definition*> todo_;
};

}  // namespace dequant::format::onnx
