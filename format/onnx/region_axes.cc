// The axis along which the slices of a region have scales of their own.
#include "format/onnx/region_axes.h"

#include <algorithm>

#include "format/io/errors.h"
#include "format/onnx/moved_shape.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of memory for a Link and its entries.
constexpr int64_t kLinkMemory = 512;
/// Nodes at most through which one shape is followed.
constexpr int kDeepest = 64;

std::string in_slices(int64_t axis, std::string_view but) {
  return fmt::format("each slice along axis {} has a scale of its own, and {}", axis, but);
}

}  // namespace

Result<RegionAxes> RegionAxisFinder::find(const Region& region, int64_t slices) {
  slices_ = slices;
  axes_ = {};
  DEQUANT_CHECK(link(region));
  DEQUANT_CHECK(follow(region));
  model_.room += static_cast<int64_t>(links_.size()) * kLinkMemory;
  links_ = {};
  links_of_.clear();
  dequantized_.clear();
  shapes_.clear();
  todo_ = {};
  return std::move(axes_);
}

Status RegionAxisFinder::follow(const Region& region) {
  if (axes_.obstacle.empty()) DEQUANT_CHECK(start(region));
  while (axes_.obstacle.empty() && !todo_.empty()) {
    const Definition* value = todo_.back();
    todo_.pop_back();
    for (const size_t i : links_of_[value]) {
      if (axes_.obstacle.empty() && !links_[i].crossed) DEQUANT_CHECK(cross(links_[i]));
    }
  }
  return axes_.obstacle.empty() ? check_nodes(region) : Status();
}

Status RegionAxisFinder::link(const Region& region) {
  const auto add = [&](const Place& p, const End& in, const End& out) -> Status {
    if (model_.room < kLinkMemory) {
      axes_.obstacle = "following the slices of all its nodes takes more memory than mem allows";
      return {};
    }
    DEQUANT_CHECK(model_.take(kLinkMemory));
    for (const End* end : {&in, &out}) {
      if (end->definition != nullptr) links_of_[end->definition].push_back(links_.size());
    }
    links_.push_back({&p, in, out});
    return {};
  };
  for (const Place& p : region.moves) {
    const MovingOperator& op = *moving_operator(*p.node);
    const size_t outputs = carried_outputs(op, *p.node);
    for (size_t i = 0; i < p.node->inputs.size(); ++i) {
      if (!carries_input(op, i) || p.node->inputs[i].text.empty()) continue;
      const End in = end_of(*p.graph, p.node->inputs[i].text);
      if (outputs == 0) DEQUANT_CHECK(add(p, in, {}));
      for (size_t j = 0; j < outputs; ++j) {
        if (!p.node->output(j).empty())
          DEQUANT_CHECK(add(p, in, end_of(*p.graph, p.node->output(j))));
      }
    }
  }
  for (const Place& p : region.dequantize) dequantized_.emplace(end_of(p).definition, &p);
  return {};
}

/// Begins with the axis of one node: where numbers come in, so that a reason names the first node
/// that does not keep the slices.
Status RegionAxisFinder::start(const Region& region) {
  const Place& first = region.quantize.empty() ? region.dequantize[0] : region.quantize[0];
  DEQUANT_TRY(const int64_t axis, axis_of(first));
  if (!axes_.obstacle.empty()) return {};
  const End end = end_of(first);
  axes_.of.emplace(end.definition, axis);
  todo_.push_back(end.definition);
  return {};
}

/// Follows the axis from the end of a link whose axis is known to the other end.
Status RegionAxisFinder::cross(Link& link) {
  link.crossed = true;
  const Node& node = *link.place->node;
  const auto from = axes_.of.find(link.in.definition);
  const bool onward = from != axes_.of.end();
  const int64_t axis = onward ? from->second : axes_.of.at(link.out.definition);
  DEQUANT_TRY(auto in, shape_of(link.in));
  DEQUANT_TRY(auto out, shape_of(link.out));
  if (!in) {
    axes_.obstacle =
        in_slices(axis, fmt::format("the shape of {} is not known", escaped(link.in.name)));
    return {};
  }
  if (onward ? !fits(*in, link.in, axis) : out && !fits(*out, link.out, axis)) return {};
  DEQUANT_TRY(const KeptAxes kept,
              kept_axes(model_, facts_,
                        {*link.place->graph, node, *moving_operator(node), *in, std::move(out)}));
  if (!kept.unknown.empty()) {
    axes_.obstacle = in_slices(axis, kept.unknown + " is not known");
    return {};
  }
  const auto source = std::find(kept.to.begin(), kept.to.end(), axis);
  const int64_t to = onward                    ? kept.to[static_cast<size_t>(axis)]
                     : source == kept.to.end() ? KeptAxes::kLost
                                               : source - kept.to.begin();
  if (to == KeptAxes::kLost) {
    axes_.obstacle = in_slices(axis, fmt::format("{} ({}) does not keep these slices",
                                                 escaped(node.label()), escaped(node.op_type())));
    return {};
  }
  assign(link, onward ? link.out : link.in, to);
  return {};
}

void RegionAxisFinder::assign(const Link& link, const End& end, int64_t axis) {
  if (end.definition == nullptr) return;
  const auto [known, is_new] = axes_.of.emplace(end.definition, axis);
  if (is_new) todo_.push_back(end.definition);
  if (known->second != axis)
    axes_.obstacle =
        in_slices(axis, fmt::format("{} moves others along axis {}",
                                    escaped(link.place->node->label()), known->second));
}

/// All nodes have their parameters along the axis of their codes.
Status RegionAxisFinder::check_nodes(const Region& region) {
  for (const auto* places : {&region.quantize, &region.dequantize}) {
    for (const Place& p : *places) {
      DEQUANT_TRY(const int64_t axis, axis_of(p));
      if (!axes_.obstacle.empty()) return {};
      const auto moved = axes_.of.find(end_of(p).definition);
      if (moved != axes_.of.end() && moved->second == axis) continue;
      axes_.obstacle =
          fmt::format("{} has its scales along another axis", escaped(p.node->label()));
      return {};
    }
  }
  return {};
}

/// The axis of a QuantizeLinear or DequantizeLinear, counted from the front; sets the obstacle
/// where it is not known.
Result<int64_t> RegionAxisFinder::axis_of(const Place& place) {
  const Attribute* a = place.node->attribute("axis");
  int64_t axis = a == nullptr ? 1 : a->i;
  if (a != nullptr && !a->reference.empty()) {
    axes_.obstacle = "its axis is an attribute of its function";
  } else if (axis < 0) {
    const End end = end_of(place);
    DEQUANT_TRY(const auto shape, shape_of(end));
    if (shape) axis += static_cast<int64_t>(shape->size());
    if (!shape || axis < 0)
      axes_.obstacle =
          in_slices(a->i, shape ? "no such axis exists"
                                : fmt::format("the shape of {} is not known", escaped(end.name)));
  }
  return axis;
}

/// True where a value has the slices of the scales along an axis, or may have; sets the obstacle
/// where it has others.
bool RegionAxisFinder::fits(Sizes& sizes, const End& end, int64_t axis) {
  const bool exists = axis < static_cast<int64_t>(sizes.size());
  if (exists) {
    int64_t& size = sizes[static_cast<size_t>(axis)];
    if (size == kUnknownSize) size = slices_;
    if (size == slices_) return true;
  }
  axes_.obstacle =
      in_slices(axis, fmt::format("{} has not {} of them", escaped(end.name), slices_));
  return false;
}

/// The shape of a value: its own, as the model tells it, or that of the floats beside it, or what
/// the node that moves its numbers makes of the shape before it.
Result<std::optional<Sizes>> RegionAxisFinder::shape_of(const End& end, int depth) {
  std::optional<Sizes> shape;
  if (end.definition == nullptr) return shape;
  const auto known = shapes_.find(end.definition);
  if (known != shapes_.end()) return known->second;
  DEQUANT_TRY(shape, told_shape(end));
  const auto links = links_of_.find(end.definition);
  for (size_t i = 0; !shape && links != links_of_.end() && i < links->second.size(); ++i) {
    const Link& link = links_[links->second[i]];
    if (link.out.definition != end.definition) continue;
    if (depth == kDeepest) break;
    const Node& node = *link.place->node;
    DEQUANT_TRY(const auto in, shape_of(link.in, depth + 1));
    if (!in) break;
    DEQUANT_TRY(const auto second, told_shape(end_of(*link.place->graph, node.input(1))));
    DEQUANT_TRY(shape,
                moved_shape(model_, facts_,
                            {*link.place->graph, node, *moving_operator(node), *in, {}}, second));
    break;
  }
  if (shape && shape->size() > kMostDimensions) shape.reset();
  shapes_.emplace(end.definition, shape);
  return shape;
}

Result<std::optional<Sizes>> RegionAxisFinder::told_shape(const End& end) {
  if (end.definition == nullptr) return std::optional<Sizes>();
  DEQUANT_TRY(const Resolved r, constants_.resolve(*end.graph, end.name));
  if (r.constant) return std::optional(r.constant->array_type().shape);
  DEQUANT_TRY(auto shape, told_.of(*end.graph, end.name));
  const Definition& d = *end.definition;
  if (!shape && d.node != nullptr && d.node->is_quantize()) {
    DEQUANT_TRY(shape, told_.of(*d.graph, d.node->input(0)));
  }
  const auto dequantized = dequantized_.find(&d);
  if (!shape && dequantized != dequantized_.end()) {
    const Place& p = *dequantized->second;
    DEQUANT_TRY(shape, told_.of(*p.graph, p.node->output(0)));
  }
  return shape;
}

RegionAxisFinder::End RegionAxisFinder::end_of(const Graph& graph, Text name) const {
  return {&graph, name, rewire_.scopes().find(graph, name)};
}

/// The codes of a QuantizeLinear or DequantizeLinear.
RegionAxisFinder::End RegionAxisFinder::end_of(const Place& place) const {
  const Node& n = *place.node;
  return end_of(*place.graph, n.is_dequantize() ? n.input(0) : n.output(0));
}

}  // namespace dequant::format::onnx
