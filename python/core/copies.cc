// Copies of what cannot be borrowed.
#include "python/core/copies.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "python/core/unlocked.h"

namespace dequant::python {
namespace {

/// What takes less time than giving the interpreter's lock away and waiting for it.
constexpr size_t kQuick = size_t{1} << 16;

/// Eight codes, the first in the lowest byte, moved together: pairs, pairs of these, and so on.
template <unsigned kBits>
uint64_t together(uint64_t codes) {
  constexpr uint64_t kBytes = 0x0101010101010101;
  codes &= kBytes * ((1u << kBits) - 1);
  codes |= codes >> (8 - kBits);
  codes &= 0x0001000100010001 * ((1u << 2 * kBits) - 1);
  codes |= codes >> (16 - 2 * kBits);
  codes &= 0x0000000100000001 * ((1u << 4 * kBits) - 1);
  return codes | codes >> (32 - 4 * kBits);
}

template <unsigned kBits>
void pack(std::span<const std::byte> from, std::span<std::byte> to) {
  static_assert(std::endian::native == std::endian::little);
  const auto eight = [&](size_t i, size_t count) {
    uint64_t codes = 0;
    std::memcpy(&codes, from.data() + i, count);
    codes = together<kBits>(codes);
    std::memcpy(to.data() + i / 8 * kBits, &codes, (count * kBits + 7) / 8);
  };
  size_t i = 0;
  for (; i + 8 <= from.size(); i += 8) eight(i, 8);
  if (i < from.size()) eight(i, from.size() - i);
}

/// The elements of dimension `d` and those below it; returns where the next one goes.
template <class T>
T* copy_dimension(const Py_buffer& view, int d, const std::byte* from, T* to) {
  if (d == view.ndim) {
    std::memcpy(to, from, sizeof(T));
    return to + 1;
  }
  const Py_ssize_t size = view.shape[d];
  const Py_ssize_t stride = view.strides[d];
  if (d + 1 < view.ndim) {
    for (Py_ssize_t i = 0; i < size; ++i) to = copy_dimension(view, d + 1, from + i * stride, to);
    return to;
  }
  for (Py_ssize_t i = 0; i < size; ++i) std::memcpy(to + i, from + i * stride, sizeof(T));
  return to + size;
}

template <class T>
void copy_items(const Py_buffer& view, std::span<std::byte> to) {
  copy_dimension(view, 0, static_cast<const std::byte*>(view.buf), reinterpret_cast<T*>(to.data()));
}

}  // namespace

Owned packed(int bits, std::span<const std::byte> from) {
  const size_t each = 8 / static_cast<size_t>(bits);
  Owned out((from.size() + each - 1) / each);
  const Unlocked unlocked(from.size() > kQuick);
  bits == 4 ? pack<4>(from, out.bytes()) : pack<2>(from, out.bytes());
  return out;
}

Owned contiguous(const Py_buffer& view) {
  Owned out(static_cast<size_t>(view.len));
  if (view.len == 0) return out;
  const Unlocked unlocked(out.bytes().size() > kQuick);
  switch (view.itemsize) {
    case 1: copy_items<uint8_t>(view, out.bytes()); break;
    case 2: copy_items<uint16_t>(view, out.bytes()); break;
    default: copy_items<uint32_t>(view, out.bytes()); break;
  }
  return out;
}

}  // namespace dequant::python
