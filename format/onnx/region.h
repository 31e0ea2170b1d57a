// Regions of quantized numbers: what QuantizeLinear nodes, constants and inputs of the model put
// into them, nodes only move, and DequantizeLinear nodes and outputs of the model take out.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "format/onnx/constants.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A node and its graph.
struct Place {
  Graph* graph = nullptr;
  Node* node = nullptr;
};

/// A constant that a node of the region moves.
struct MovedConstant {
  Place place;
  uint32_t input = 0;
};

/// A region: values that are connected by nodes that move their numbers.
struct Region {
  std::vector<Place> quantize;
  std::vector<Place> moves;
  std::vector<Place> dequantize;
  std::vector<MovedConstant> constants;
  std::vector<std::pair<Graph*, Text>> values;  ///< of the region, with their graphs
  std::vector<Value*> inputs;                   ///< of the model
  std::vector<Value*> outputs;                  ///< of the model
  std::string obstacle;  ///< why the region must stay quantized; empty: nothing found yet

  size_t nodes() const { return quantize.size() + moves.size() + dequantize.size(); }
  /// One of its nodes with a scale, a DequantizeLinear if it has one.
  const Place& one() const { return dequantize.empty() ? quantize[0] : dequantize[0]; }
};

/// Finds regions. Each region is found once.
class RegionFinder {
 public:
  /// `is_open` is true for a QuantizeLinear or DequantizeLinear that may be removed.
  RegionFinder(Model& model, Constants& constants, const Rewire& rewire,
               std::function<bool(const Node&)> is_open)
      : model_(model), constants_(constants), rewire_(rewire), is_open_(std::move(is_open)) {}

  /// The region of the codes of a QuantizeLinear or DequantizeLinear; one without moves where it
  /// has been found before, or where the codes are constant. Fails with malformed, limit or io.
  Result<Region> find(Graph& graph, Node& node);

 private:
  struct Open {
    Graph* graph;
    Text name;
  };

  Status enter(Region& region, const Open& value);
  Status enter_producer(Region& region, const Definition& d, Text name);
  Status enter_user(Region& region, const Use& use, Text name);
  Status enter_move(Region& region, Graph& graph, Node& node);

  Model& model_;
  Constants& constants_;
  const Rewire& rewire_;
  std::function<bool(const Node&)> is_open_;
  std::unordered_set<const Definition*> seen_;
  std::unordered_set<const Node*> moves_;
  std::vector<Open> todo_;
};

}  // namespace dequant::format::onnx
