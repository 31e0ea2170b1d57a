// The type of a tensor (element and shape) and the checked arithmetic of its size.
#pragma once

#include <cstdint>
#include <span>

#include "dequant/element.h"
#include "dequant/status.h"

namespace dequant {

/// Sizes of the dimensions, outermost first; empty for a scalar. Not owned.
using Shape = std::span<const int64_t>;

/// Element type and shape of a tensor; the shape is borrowed from the caller.
struct TensorType {
  Element element = Element::float32;
  Shape shape;
};

/// Number of elements of a shape. Fails with invalid_argument on a negative dimension, or when the
/// product of the non-zero dimensions overflows, wherever a zero dimension stands.
DEQUANT_EXPORT Result<int64_t> element_count(Shape shape);

/// Bytes that `count` elements take when packed: ceil(count * bits / 8). Fails with
/// invalid_argument when that overflows int64_t or `count` is negative.
DEQUANT_EXPORT Result<int64_t> packed_bytes(Element element, int64_t count);

}  // namespace dequant
