// Nodes of TensorFlow's Dequantize that own their shapes, and what every case checks.
#pragma once

#include "dequant/tensorflow.h"
#include "dialect/node.h"

namespace dequant::testing::tensorflow_node {

using tensorflow::Axis;
using tensorflow::Mode;
using tensorflow::PythonAxis;
using tensorflow::RawAxis;
using tensorflow::Semantics;
using tensorflow::Version;

/// A node that owns its shapes; by default qint8[2, 3, 4] per tensor.
struct Node {
  Type input = {Element::int8, {2, 3, 4}};
  Type min = {};
  Type max = {};
  Mode mode = Mode::min_combined;
  Axis axis = RawAxis{};
  bool narrow_range = false;
  Element dtype = Element::float32;
  Version version = Version::r2;
  Semantics semantics = Semantics::kernel;
};

inline Result<Plan> plan_of(const Node& n) {
  tensorflow::Dequantize node;
  node.version = n.version;
  node.input = {n.input.element, n.input.shape};
  node.min_range = {n.min.element, n.min.shape};
  node.max_range = {n.max.element, n.max.shape};
  node.mode = n.mode;
  node.narrow_range = n.narrow_range;
  node.axis = n.axis;
  node.dtype = n.dtype;
  node.semantics = n.semantics;
  return tensorflow::dequantize(node);
}

inline constexpr Accepts<Node> accepts;
inline constexpr Rejects<Node> rejects;

/// Ranges of that shape, both.
inline Node with_ranges(Node node, const Fixed& shape) {
  node.min.shape = node.max.shape = shape;
  return node;
}

inline Plan per_tensor(int64_t count, Rule rule = Rule::min_combined) {
  return {.input = Element::int8, .rule = rule, .inner = count};
}

inline Plan per_axis(int64_t outer, int64_t axis, int64_t inner) {
  return {.input = Element::int8,
          .rule = Rule::min_combined,
          .granularity = Granularity::per_axis,
          .outer = outer,
          .axis = axis,
          .inner = inner};
}

}  // namespace dequant::testing::tensorflow_node
