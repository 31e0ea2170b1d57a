// subtract_then_scale once more, an element at a time, by the published definitions of the types
// alone: slow, and with nothing of the library but its names.
#pragma once

#include "fuzz/support/check.h"
#include "fuzz/support/tensors.h"

namespace dequant::fuzz {

/// Of one element: which element of each buffer is its code, scale, zero point and result.
struct Offsets {
  int64_t x = 0;
  int64_t scale = 0;
  int64_t zero_point = 0;
  int64_t y = 0;
};

/// The code that the model has for an element.
uint32_t modelled(const Plan& plan, const Tensors& t, const Offsets& at);

/// Aborts unless y holds the model's result at offsets_of(i).y for every i below `count`, and is
/// untouched elsewhere. Of many elements only some are compared: the model is slow.
template <class OffsetsOf>
void check_model(const Plan& plan, const Tensors& t, const Exact& y, int64_t count,
                 OffsetsOf&& offsets_of) {
  const bool all = count <= kManyElements;
  Exact expected = all ? t.y() : copy(y);
  const auto bytes = static_cast<size_t>(bits(plan.output) / 8);
  for (int64_t i = 0; i < count; i += all ? 1 : count / kManyElements + 1) {
    const Offsets at = offsets_of(i);
    const uint32_t code = modelled(plan, t, at);
    std::memcpy(expected.bytes().data() + static_cast<size_t>(at.y) * bytes, &code, bytes);
  }
  require(y == expected, "y differs from the model");
}

/// Indices of an element, outermost first.
using Indices = std::array<int64_t, 16>;

/// The indices of element i of a row-major tensor of at most 16 dimensions.
inline Indices indices_of(int64_t i, std::span<const int64_t> shape) {
  Indices out{};
  for (size_t d = shape.size(); d-- > 0; i /= shape[d]) out[d] = i % shape[d];
  return out;
}

/// The row-major index of an element with these indices.
inline int64_t index_of(const Indices& indices, std::span<const int64_t> shape) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + indices[d];
  return at;
}

}  // namespace dequant::fuzz
