// Rare ways through a row.
#include "kernel/careful.h"

#include <algorithm>
#include <cstring>

namespace dequant {
namespace {

/// Elements done at once: whole groups on every target, whole bytes of packed codes.
constexpr size_t kTile = 1024;

/// Elements from i on that one call does: whole runs, or a part of one.
size_t piece_of(const RowArgs& a, Leaf leaf, size_t i) {
  const size_t left = std::min(kTile, a.count - i);
  if (leaf == Leaf::varying) return left;
  if (a.run <= kTile) return std::min(kTile / a.run * a.run, left);
  return std::min(left, a.run - i % a.run);
}

}  // namespace

void careful_row(const RowArgs& a, Leaf leaf, RowFn float_row, const Careful& how) {
  alignas(64) float results[kTile] = {};
  alignas(64) uint8_t codes[kTile * sizeof(float)];
  size_t count = 0;
  for (size_t i = 0; i < a.count; i += count) {
    count = piece_of(a, leaf, i);
    const size_t side = leaf == Leaf::runs ? i / a.run : i;
    RowArgs piece = a;
    piece.x += i * static_cast<size_t>(how.x_bits) / 8;
    piece.y = reinterpret_cast<uint8_t*>(results);
    piece.count = count;
    piece.scale += side;
    piece.zero += side;
    if (a.offset != nullptr) piece.offset += side;
    piece.stream = false;
    piece.plain = true;
    float_row(piece);
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
