// The kernel for scales that are not finite and normal, and copies for the remainder.
#include "kernel/special_values.h"

#include <algorithm>
#include <cstring>

namespace dequant {
namespace {

/// Elements of a tile, at most: whole steps on every target, and whole bytes of packed codes.
constexpr size_t kTile = 1024;

/// Elements of the tile at i: whole groups, or a part of a group longer than kTile.
size_t tile_size(const KernelArgs& a, ScaleLayout scale_layout, size_t i) {
  const size_t left = std::min(kTile, a.count - i);
  if (scale_layout == ScaleLayout::per_element) return left;
  if (a.group <= kTile) return std::min(kTile / a.group * a.group, left);
  return std::min(left, a.group - i % a.group);
}

}  // namespace

void special_values_kernel(const KernelArgs& a, ScaleLayout scale_layout, KernelFn float_kernel,
                           const SpecialValues& types) {
  alignas(64) float results[kTile] = {};
  alignas(64) uint8_t codes[kTile * sizeof(float)];
  size_t count = 0;
  for (size_t i = 0; i < a.count; i += count) {
    count = tile_size(a, scale_layout, i);
    const size_t params = scale_layout == ScaleLayout::per_group ? i / a.group : i;
    KernelArgs tile = a;
    tile.x += i * static_cast<size_t>(types.x_bits) / 8;
    tile.y = reinterpret_cast<uint8_t*>(results);
    tile.count = count;
    tile.scale += params;
    tile.zero += params;
    if (a.offset != nullptr) tile.offset += params;
    tile.stream = false;
    tile.finite_normal = true;
    float_kernel(tile);
    types.finish(results, count, codes);
    std::memcpy(a.y + i * types.y_size, codes, count * types.y_size);
  }
}

void copy_padded(const void* from, size_t bytes, void* to, size_t capacity) {
  std::memset(to, 0, capacity);
  std::memcpy(to, from, bytes);
}

void copy_bytes(const void* from, size_t bytes, void* to) { std::memcpy(to, from, bytes); }

}  // namespace dequant
