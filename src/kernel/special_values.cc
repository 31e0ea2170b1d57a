// What kernels need rarely.
#include "kernel/special_values.h"

#include <algorithm>
#include <cstring>

namespace dequant {
namespace {

/// Elements done at once: whole groups on every target, whole bytes of packed codes.
constexpr size_t kTile = 1024;

/// Elements from i on that one call does: whole groups, or a part of one.
size_t piece_of(const KernelArgs& a, ScaleLayout scale_layout, size_t i) {
  const size_t left = std::min(kTile, a.count - i);
  if (scale_layout == ScaleLayout::per_element) return left;
  if (a.group <= kTile) return std::min(kTile / a.group * a.group, left);
  return std::min(left, a.group - i % a.group);
}

}  // namespace

void special_values_kernel(const KernelArgs& a, ScaleLayout scale_layout, KernelFn float_kernel,
                           const SpecialValues& how) {
  alignas(64) float results[kTile] = {};
  alignas(64) uint8_t codes[kTile * sizeof(float)];
  size_t count = 0;
  for (size_t i = 0; i < a.count; i += count) {
    count = piece_of(a, scale_layout, i);
    const size_t params = scale_layout == ScaleLayout::per_group ? i / a.group : i;
    KernelArgs piece = a;
    piece.x += i * static_cast<size_t>(how.x_bits) / 8;
    piece.y = reinterpret_cast<uint8_t*>(results);
    piece.count = count;
    piece.scale += params;
    piece.zero += params;
    if (a.offset != nullptr) piece.offset += params;
    piece.stream = false;
    piece.finite_normal = true;
    float_kernel(piece);
    how.finish(results, count, codes);
    std::memcpy(a.y + i * how.y_size, codes, count * how.y_size);
  }
}

void copy_padded(const void* from, size_t bytes, void* to, size_t capacity) {
  std::memset(to, 0, capacity);
  std::memcpy(to, from, bytes);
}

void copy_bytes(const void* from, size_t bytes, void* to) { std::memcpy(to, from, bytes); }

}  // namespace dequant
