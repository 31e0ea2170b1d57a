// The type of a tensor, which is an element type and a shape, and how many elements and bytes it
// has, computed with checks for overflow.
#pragma once

#include <cstdint>
#include <span>

#include "dequant/element.h"
#include "dequant/status.h"

namespace dequant {

/// The sizes of a tensor's dimensions, outermost first; empty for a scalar. A span: the numbers are
/// the caller's and must live as long as the Shape is used.
using Shape = std::span<const int64_t>;

/// The element type and the shape of a tensor. The shape is borrowed from the caller.
struct TensorType {
  Element element = Element::float32;
  Shape shape;
};

/// The number of elements of a shape: the product of its dimensions, 1 for a scalar. Fails with
/// invalid_argument if a dimension is negative, or if the product of the dimensions that are not 0
/// overflows int64_t, even if another dimension is 0.
DEQUANT_EXPORT Result<int64_t> element_count(Shape shape);

/// The bytes that `count` elements take when they are packed, without padding between elements or
/// rows: ceil(count * bits(element) / 8). Fails with invalid_argument if `count` is negative or the
/// number of bytes overflows int64_t.
DEQUANT_EXPORT Result<int64_t> packed_bytes(Element element, int64_t count);

}  // namespace dequant
