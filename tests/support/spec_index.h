// Which scale an element has, by the words of the specification on the indices of an N-dimensional
// tensor. The arbiter of plan/ and execute/; it shares nothing with the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dequant/onnx.h"
#include "support/random.h"

namespace dequant::testing {

using Dims = std::vector<int64_t>;

/// The shapes and attributes of a node; `block` is 0 where it is not blocked.
struct Granular {
  Dims x;
  Dims scale;
  int64_t axis = 1;
  int64_t block = 0;
};

inline int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  return count;
}

/// The index, in the flattened x_scale, of the scale of element i of the flattened x: with the
/// index (i0, ..., in) of the element, per tensor 0, per axis i[axis], blocked that of (i0, ...,
/// i[axis] / block, ..., in). Row-major, so the last index runs fastest.
inline int64_t spec_scale_index(const Granular& g, int64_t i) {
  const auto rank = static_cast<int64_t>(g.x.size());
  const int64_t axis = g.axis < 0 ? g.axis + rank : g.axis;
  if (g.block == 0 && count_of(g.scale) == 1) return 0;
  int64_t scale = 0;
  int64_t stride = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    const int64_t index = i % g.x[static_cast<size_t>(d)];
    i /= g.x[static_cast<size_t>(d)];
    if (g.block == 0) {
      if (d == axis) return index;
      continue;
    }
    scale += (d == axis ? index / g.block : index) * stride;
    stride *= g.scale[static_cast<size_t>(d)];
  }
  return scale;
}

/// Shapes that one of the granularities allows for x.
inline Granular random_granular(Random& random, Dims x) {
  const auto rank = static_cast<int64_t>(x.size());
  Granular g{.x = std::move(x), .scale = {}, .axis = 1, .block = 0};
  if (rank == 0 || random.in(0, 3) == 0) {
    if (random.coin()) g.scale = {1};
    return g;
  }
  const int64_t axis = random.in(0, rank - 1);
  const int64_t size = g.x[static_cast<size_t>(axis)];
  g.axis = random.coin() ? axis : axis - rank;
  if (random.coin()) {
    g.scale = {size};
  } else {
    g.block = random.in(1, size + 2);
    g.scale = g.x;
    g.scale[static_cast<size_t>(axis)] = (size + g.block - 1) / g.block;
  }
  return g;
}

inline Dims random_dims(Random& random, int64_t max_rank, int64_t max_dim) {
  Dims dims(static_cast<size_t>(random.in(0, max_rank)));
  for (int64_t& d : dims) d = random.in(0, max_dim);
  return dims;
}

/// The node of those shapes, which it borrows.
inline onnx::DequantizeLinear node_of(const Granular& g, Element x, Element scale, Element output,
                                      bool zero_point) {
  onnx::DequantizeLinear node;
  node.opset = onnx::kNewestOpset;
  node.x = {x, g.x};
  node.x_scale = {scale, g.scale};
  if (zero_point) node.x_zero_point = {x, g.scale};
  node.axis = g.axis;
  if (g.block != 0) node.block_size = g.block;
  node.output_dtype = onnx_code(output);
  return node;
}

}  // namespace dequant::testing
