// The systematic cases of TensorFlow: types and modes with ranges, then shapes.
#include "conformance/vectors/tensorflow.h"

#include <algorithm>

#include "conformance/vectors/tensorflow_node.h"
#include "conformance/vectors/tensorflow_refusals.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using tensorflow::Mode;

constexpr Mode kModes[]{Mode::min_combined, Mode::min_first, Mode::scaled};

/// Every combination of types and attributes, per tensor.
std::vector<TensorflowNode> nodes_of(bool today) {
  std::vector<TensorflowNode> list;
  for (const Element x : kTensorflowTypes) {
    for (const Mode mode : kModes) {
      const TensorflowNode node{.x = x, .mode = mode};
      list.push_back(node);
      if (!today) {
        list.push_back(node);
        list.back().documented = true;
        continue;
      }
      list.push_back(node);
      list.back().narrow_range = true;
      if (mode != Mode::min_combined) continue;
      list.push_back(node);
      list.back().dtype = Element::bfloat16;
    }
  }
  return list;
}

CaseTensor row(Element x, const Codes& codes) {
  size_t i = 0;
  return quantized(tensor_of(x, {static_cast<int64_t>(codes.size())}, [&] { return codes[i++]; }));
}

/// Random codes without those of is_undefined_cast().
CaseTensor random_x(Random& random, Element x, const Sizes& shape) {
  return quantized(tensor_of(x, shape, [&] {
    const uint64_t code = random_code(random, x);
    return x == Element::int32 && is_undefined_cast(code) ? 0 : code;
  }));
}

/// Codes of is_undefined_cast() are in separate cases.
void add_pair(Collector& out, const TensorflowNode& node, const RangePair& pair) {
  const auto add = [&](const std::string& what, const Codes& codes) {
    Case c = tensorflow_case(out, fmt::format("{}/per_tensor/{}", title(node), what), node);
    c.inputs["x"] = row(node.x, codes);
    c.inputs["min_range"] = ranges({}, {pair.min});
    c.inputs["max_range"] = ranges({}, {pair.max});
    out.accept(std::move(c), "per_tensor");
  };
  const bool first = &pair == &range_pairs().front();
  Codes codes = first ? all_codes(node.x) : edge_codes(node.x);
  if (node.x == Element::int32) {
    const auto end = std::stable_partition(codes.begin(), codes.end(),
                                           [](uint64_t c) { return !is_undefined_cast(c); });
    add(fmt::format("{}_undefined_casts", pair.name), Codes(end, codes.end()));
    codes.erase(end, codes.end());
  }
  add(std::string(pair.name), codes);
}

/// One slice for each pair of ranges.
void add_slices(Collector& out, TensorflowNode node) {
  if (node.mode == Mode::min_first) return;
  node.axis = 0;
  Codes min, max;
  for (const RangePair& pair : range_pairs()) {
    min.push_back(pair.min);
    max.push_back(pair.max);
  }
  const auto slices = static_cast<int64_t>(min.size());
  Case c = tensorflow_case(out, title(node) + "/per_axis/edges", node);
  c.inputs["x"] = quantized(repeated(node.x, min.size(), edge_codes(node.x)));
  c.inputs["min_range"] = ranges({slices}, min);
  c.inputs["max_range"] = ranges({slices}, max);
  out.accept(std::move(c), "per_axis");
}

struct RangeShape {
  std::string_view name;
  Sizes x;
  Sizes range = {};
  std::optional<int64_t> axis = {};
};

/// Shapes of x, and of ranges, whose rank does not matter.
const std::vector<RangeShape>& shapes() {
  static const std::vector<RangeShape> list{
      {"scalar", {}},
      {"odd", {3, 5}},
      {"rank_5", {2, 1, 3, 2, 2}},
      {"empty", {0}},
      {"empty_in_the_middle", {2, 0, 3}},
      {"ranges_of_rank_1", {4}, {1}},
      {"explicit_per_tensor", {2, 3}, {}, -1},
      {"axis_0", {3, 5}, {3}, 0},
      {"last_axis", {3, 5}, {5}, 1},
      {"axis_of_one", {3, 1, 2}, {1}, 1},
      {"empty_beside_the_axis", {0, 3}, {3}, 1},
      {"empty_axis", {2, 0}, {0}, 1},
      {"rank_5_axis_0", {2, 3, 1, 3, 2}, {2}, 0},
      {"rank_5_axis_1", {2, 3, 1, 3, 2}, {3}, 1},
      {"rank_5_axis_2", {2, 3, 1, 3, 2}, {1}, 2},
      {"rank_5_axis_3", {2, 3, 1, 3, 2}, {3}, 3},
      {"rank_5_axis_4", {2, 3, 1, 3, 2}, {2}, 4},
  };
  return list;
}

void add_shapes(Collector& out, Element x, bool today) {
  for (const RangeShape& shape : shapes()) {
    if (shape.axis && !today) continue;
    const bool sliced = shape.range != Sizes{} && shape.range != Sizes{1};
    for (const Mode mode : kModes) {
      if (sliced && mode == Mode::min_first) continue;
      const TensorflowNode node{.x = x, .mode = mode, .axis = shape.axis};
      const std::string granularity = sliced ? "per_axis" : "per_tensor";
      Case c = tensorflow_case(
          out, fmt::format("{}/shapes/{}/{}", title(node), granularity, shape.name), node);
      Random random = out.random(c.name);
      c.inputs["x"] = random_x(random, x, shape.x);
      const auto range = [&](uint64_t sign) {
        return tensor_of(Element::float32, shape.range,
                         [&] { return random_scale(random, Element::float32) ^ sign; });
      };
      c.inputs["min_range"] = range(0x80000000);
      c.inputs["max_range"] = range(0);
      out.accept(std::move(c), granularity);
    }
  }
}

}  // namespace

void add_tensorflow(Collector& out, const std::string& version) {
  const bool today = version == "2";
  for (const TensorflowNode& node : nodes_of(today)) {
    for (const RangePair& pair : range_pairs()) add_pair(out, node, pair);
    if (today) add_slices(out, node);
  }
  for (const Element x : kTensorflowTypes) add_shapes(out, x, today);
  add_tensorflow_refusals(out, today);
}

void add_tensorflow_random(Collector& out, const std::string& version, int64_t count) {
  const bool today = version == "2";
  const auto nodes = nodes_of(today);
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("random/{:05}", i);
    Random random = out.random(name);
    TensorflowNode node = random.of(nodes);
    Sizes x, range;
    for (int64_t rank = random.in(0, 4); rank > 0; --rank) x.push_back(random.in(1, 4));
    if (today && !x.empty() && node.mode != Mode::min_first && random.coin()) {
      node.axis = random.in(0, static_cast<int64_t>(x.size()) - 1);
      range = {x[static_cast<size_t>(*node.axis)]};
    }
    Case c = tensorflow_case(out, name, node);
    c.inputs["x"] = random_x(random, node.x, x);
    c.inputs["min_range"] = random_scales(random, Element::float32, range);
    c.inputs["max_range"] = random_scales(random, Element::float32, range);
    const bool sliced = count_of(range) != 1;
    out.accept(std::move(c), sliced ? "per_axis" : "per_tensor");
  }
}

}  // namespace dequant::conformance::vectors
