// One constant for all operators that read the same quantized weight.
#include "format/onnx/share_folds.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace dequant::format::onnx {
namespace {

/// Bytes of memory for a fold that others may share.
constexpr int64_t kKeyMemory = 192;

const void* identity_of(const std::optional<Constant>& c) { return c ? c->identity() : nullptr; }

bool is_same(const Constant& a, const Constant& b) {
  const TensorType s = a.type();
  const TensorType t = b.type();
  return a.identity() == b.identity() && a.packed == b.packed && s.element == t.element &&
         std::equal(s.shape.begin(), s.shape.end(), t.shape.begin(), t.shape.end());
}

bool is_same(const std::optional<Constant>& a, const std::optional<Constant>& b) {
  return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
}

/// True where nodes alone read the constant, and see the other by its name.
bool can_read(const Rewire& rewire, const std::vector<Use>& uses, const Dequantization& other) {
  const std::string_view name = other.node->output(0);
  const Definition* target = rewire.scopes().find(*other.graph, name);
  return std::all_of(uses.begin(), uses.end(), [&](const Use& u) {
    return u.node != nullptr && rewire.scopes().find(*u.graph, name) == target;
  });
}

}  // namespace

DequantizationKey key_of(const Dequantization& d) {
  return {d.graph,
          d.x.identity(),
          identity_of(d.scale),
          identity_of(d.zero_point),
          identity_of(d.group_index),
          d.plan.outer,
          d.plan.axis,
          d.plan.inner};
}

bool gives_same(const Dequantization& a, const Dequantization& b) {
  return !a.codebook && !b.codebook && a.plan == b.plan && a.dense == b.dense &&
         is_same(a.x, b.x) && is_same(a.scale, b.scale) && is_same(a.zero_point, b.zero_point) &&
         is_same(a.group_index, b.group_index);
}

Status share_folds(Model& model, Rewire& rewire, std::deque<Fold>& folds) {
  std::map<DequantizationKey, const Fold*> known;
  std::unordered_set<const Node*> shared;
  for (const Fold& f : folds) {
    const Dequantization& d = f.dequantization;
    if (!rewire.made(*d.node) || d.codebook) continue;
    DEQUANT_CHECK(model.take(kKeyMemory));
    const auto [first, is_new] = known.try_emplace(key_of(d), &f);
    if (is_new || first->second->cast_to != f.cast_to) continue;
    const Dequantization& kept = first->second->dequantization;
    if (!gives_same(kept, d)) continue;
    const std::vector<Use> uses = rewire.uses_of(*d.graph, d.node->output(0));
    if (!can_read(rewire, uses, kept)) continue;
    for (const Use& u : uses)
      rewire.rename_input(*u.graph, *u.node, u.input, kept.node->output(0).str());
    rewire.retire_node(*d.graph, *d.node);
    shared.insert(d.node);
  }
  std::erase_if(folds, [&](const Fold& f) { return shared.contains(f.dequantization.node); });
  return {};
}

}  // namespace dequant::format::onnx
