// Decodes a tile of codes to float32 by a kernel, then applies the scalar definition of
// src/element/reference.h to each element.
#include "execute/float_zero_points.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "element/reference.h"
#include "kernel/lut.h"

namespace dequant {
namespace {

/// Elements decoded at once; whole bytes whatever the width of a code.
constexpr int64_t kTile = 1024;

}  // namespace

void subtract_floats(const Plan& plan, const Table& table, Element x, ScaleLayout scale_layout,
                     const uint8_t* codes, uint8_t* y, int64_t count, int64_t group,
                     const Params& params) noexcept {
  const Element type = zero_point_element(plan);
  const auto size = static_cast<size_t>(bits(plan.output) / 8);
  const float one = 1;
  const int32_t none = 0;
  alignas(64) float values[kTile];
  for (int64_t i = 0; i < count; i += kTile) {
    const int64_t n = std::min(kTile, count - i);
    table.at(x, Element::float32, ScaleLayout::per_group)({.x = codes + i * bits(x) / 8,
                                                           .y = reinterpret_cast<uint8_t*>(values),
                                                           .count = static_cast<size_t>(n),
                                                           .group = static_cast<size_t>(n),
                                                           .scale = &one,
                                                           .zero = &none,
                                                           .lut = lut_of(x),
                                                           .finite_normal = true});
    for (int64_t k = 0; k < n; ++k) {
      const int64_t param = scale_layout == ScaleLayout::per_group ? (i + k) / group : i + k;
      const auto zero = std::bit_cast<float>(params.zero[param]);
      const uint32_t code =
          reference_float_zero_point(values[k], type, zero, params.scale[param], plan.output);
      std::memcpy(y + static_cast<size_t>(i + k) * size, &code, size);  // little-endian
    }
  }
}

}  // namespace dequant
