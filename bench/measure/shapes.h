// The shapes of the cells: sizes, and layouts of elements and scales.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "dequant/plan.h"

namespace dequant::bench {

struct Shape {
  std::string_view name;
  void (*lay)(Plan& plan, int64_t elements);
  std::string_view neighbour = {};        ///< of a cliff: the ordinary shape to compare with
  std::string_view neighbour_group = {};  ///< first part of the name of the cell with that shape
};

std::span<const Shape> packed_shapes() noexcept;
std::span<const Shape> strided_shapes() noexcept;
std::span<const Shape> shapes_of_ranges() noexcept;  ///< the first shape is per tensor
std::span<const Shape> cliff_shapes() noexcept;
std::span<const Shape> layout_shapes() noexcept;      ///< codes of uint8 in layouts of their own
std::span<const Shape> arithmetic_shapes() noexcept;  ///< more than one product and one rounding
std::span<const Shape> transposed_shapes() noexcept;  ///< rows of x are columns of y
std::span<const Shape> uint4_shapes() noexcept;       ///< weights of uint4 in checkpoints
std::span<const Shape> int4_shapes() noexcept;        ///< weights of int4 in checkpoints
std::span<const Shape> block_shapes() noexcept;       ///< one for each block type

}  // namespace dequant::bench
