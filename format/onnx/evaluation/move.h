// Moving the elements of arrays: what Transpose, Slice, Gather, Concat and broadcasting do.
#pragma once

#include "format/onnx/evaluation/array.h"

namespace dequant::format::onnx {

/// Where the elements along one dimension of a result lie in the source: at index i the offset
/// `begin + i * step`, or `table[i]` where there is a table; in elements.
struct Walk {
  int64_t size = 0;
  int64_t begin = 0;
  int64_t step = 0;
  std::vector<int64_t> table = {};
};

/// How far apart neighbours of each dimension lie in a tensor of this shape, which has few enough
/// elements for int64_t.
std::vector<int64_t> strides_of(const std::vector<int64_t>& shape);

/// The result with one dimension for each walk, and then the shape `shape`, which has as many
/// elements. All walks stay within the source.
Array moved(const Array& source, const std::vector<Walk>& walks, std::vector<int64_t> shape);

/// The arrays, of one type and of shapes that differ on the axis alone, one behind another on it.
Array joined(const std::vector<Array>& parts, size_t axis, std::vector<int64_t> shape);

}  // namespace dequant::format::onnx
