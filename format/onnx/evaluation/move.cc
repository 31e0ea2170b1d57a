// Moving the elements of arrays.
#include "format/onnx/evaluation/move.h"

#include <algorithm>
#include <cstring>

#include "dequant/codes.h"
#include "format/onnx/external_size.h"

namespace dequant::format::onnx {
namespace {

/// Copies `count` elements of any width.
void copy(int width, const Array& from, int64_t at, Array& to, int64_t to_at, int64_t count) {
  if (width >= 8) {
    const int64_t size = width / 8;
    if (count > 0)
      std::memcpy(to.bytes.data() + to_at * size, from.bytes.data() + at * size,
                  static_cast<size_t>(count * size));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    store_code(width, to.bytes.data(), to_at + i, load_code(width, from.bytes.data(), at + i));
  }
}

int64_t offset(const Walk& walk, int64_t i) {
  return walk.table.empty() ? walk.begin + i * walk.step : walk.table[static_cast<size_t>(i)];
}

/// Walks of which the second continues the first become one.
std::vector<Walk> merged(const std::vector<Walk>& walks) {
  std::vector<Walk> out;
  for (const Walk& w : walks) {
    if (w.size == 1 && w.table.empty() && !out.empty() && out.back().table.empty()) {
      out.back().begin += w.begin;
      continue;
    }
    Walk* last = out.empty() ? nullptr : &out.back();
    if (last != nullptr && last->table.empty() && w.table.empty() && w.begin == 0 &&
        last->step == w.size * w.step) {
      last->size *= w.size;
      last->step = w.step;
      continue;
    }
    out.push_back(w);
  }
  return out;
}

Array empty_array(int32_t data_type, std::vector<int64_t> shape, int64_t count, int width) {
  Array out{{data_type, std::move(shape)}, {}};
  out.bytes.resize(static_cast<size_t>((count * width + 7) / 8));
  return out;
}

}  // namespace

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

Array moved(const Array& source, const std::vector<Walk>& all, std::vector<int64_t> shape) {
  const int width = element_bits(source.type.data_type);
  std::vector<Walk> walks = merged(all);
  if (walks.empty()) walks.push_back({1, 0, 1});
  int64_t count = 1;
  for (const Walk& w : walks) count *= w.size;
  Array out = empty_array(source.type.data_type, std::move(shape), count, width);
  if (count == 0) return out;

  const Walk& row = walks.back();
  const bool contiguous = row.table.empty() && row.step == 1;
  std::vector<int64_t> index(walks.size() - 1);
  for (int64_t at = 0; at < count; at += row.size) {
    int64_t from = 0;
    for (size_t d = 0; d < index.size(); ++d) from += offset(walks[d], index[d]);
    if (contiguous) {
      copy(width, source, from + row.begin, out, at, row.size);
    } else {
      for (int64_t i = 0; i < row.size; ++i)
        copy(width, source, from + offset(row, i), out, at + i, 1);
    }
    for (size_t d = index.size(); d-- > 0 && ++index[d] == walks[d].size;) index[d] = 0;
  }
  return out;
}

Array joined(const std::vector<Array>& parts, size_t axis, std::vector<int64_t> shape) {
  const int width = element_bits(parts.front().type.data_type);
  const auto product = [](auto begin, auto end) {
    int64_t p = 1;
    for (; begin != end; ++begin) p *= *begin;
    return p;
  };
  const auto at_axis = static_cast<std::ptrdiff_t>(axis);
  const int64_t outer = product(shape.begin(), shape.begin() + at_axis);
  const int64_t inner = product(shape.begin() + at_axis, shape.end());
  Array out = empty_array(parts.front().type.data_type, std::move(shape), outer * inner, width);
  int64_t before = 0;
  for (const Array& part : parts) {
    const auto& sizes = part.type.shape;
    const int64_t row = product(sizes.begin() + at_axis, sizes.end());
    for (int64_t o = 0; o < outer; ++o) copy(width, part, o * row, out, o * inner + before, row);
    before += row;
  }
  return out;
}

}  // namespace dequant::format::onnx
