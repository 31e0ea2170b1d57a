// Constants whose codes nodes only move, such as the tables of a Gather, before a DequantizeLinear:
// as `convert --strip-qdq` writes them.
#include "format/onnx/onnx_file.h"
#include "format/onnx/region_plan.h"

namespace dequant::format::onnx {
namespace {

/// What is kept of a constant takes at most, beside its name.
constexpr int64_t kMovedMemory = 2048;

}  // namespace

/// DequantizeLinear nodes of constants, which are dense tensors themselves.
Result<std::unordered_set<const Node*>> OnnxFile::dense_nodes() {
  std::unordered_set<const Node*> out;
  for (Graph* graph : scopes_.graphs()) {
    for (Node& node : graph->nodes) {
      if (!node.is_dequantize()) continue;
      DEQUANT_TRY(const Decision decision, constants_.consider(*graph, node));
      if (decision.dequantization) out.insert(&node);
    }
  }
  return out;
}

/// True where a node that moves numbers computes the codes: only then they may be constants.
bool OnnxFile::is_moved(const Graph& graph, std::string_view name) const {
  const Definition* codes = scopes_.find(graph, name);
  return codes != nullptr && codes->node != nullptr && moving_operator(*codes->node) != nullptr;
}

Status OnnxFile::plan_moved() {
  if (moved_) return {};
  moved_.emplace();
  QuantizerFacts facts(*model_, files_, scopes_, constants_);
  ValueRanges ranges(*model_, files_, scopes_, constants_);
  PairReplacements replacements(*expanded_, facts, ranges, constants_, Clips::never);
  DEQUANT_TRY(const auto dense, dense_nodes());
  const auto is_open = [&](const Node& n) {
    return !expanded_->removed(n) && !dense.contains(&n) && n.inputs.size() >= 2 &&
           n.outputs.size() == 1;
  };
  RegionFinder regions(*model_, constants_, *expanded_, is_open);
  RegionPlanner planner(*model_, constants_, *expanded_, facts, replacements, std::nullopt);
  for (Graph* graph : scopes_.graphs()) {
    for (Node& node : graph->nodes) {
      if (!node.is_dequantize() || !is_open(node) || !is_moved(*graph, node.input(0))) continue;
      DEQUANT_TRY(const Region region, regions.find(*graph, node));
      if (region.constants.empty()) continue;
      DEQUANT_CHECK(model_->take(kMovedMemory * static_cast<int64_t>(region.nodes())));
      DEQUANT_TRY(RegionPlan plan, planner.plan(region));
      if (!plan.obstacle.empty()) continue;
      for (Fold& fold : plan.folds)
        moved_->push_back(std::make_shared<const Dequantization>(std::move(fold.dequantization)));
    }
  }
  return {};
}

Status OnnxFile::visit_moved(const TensorVisitor& visitor) {
  DEQUANT_CHECK(plan_moved());
  for (const auto& dequantization : *moved_)
    DEQUANT_CHECK(visitor.dense(dense_tensor(dequantization)));
  return {};
}

}  // namespace dequant::format::onnx
