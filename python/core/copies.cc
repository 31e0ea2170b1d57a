// Copies of tensors whose memory the library cannot read as it is.
#include "python/core/copies.h"

#include <cstdint>
#include <cstring>

#include "dequant/codes.h"
#include "python/core/tensor.h"
#include "python/core/unlocked.h"

namespace dequant::python {
namespace {

/// Copying this many bytes takes less time than releasing the GIL and acquiring it again.
constexpr size_t kQuick = size_t{1} << 16;

/// Copies the elements of dimension `d` and all later dimensions; returns the end of the copy.
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
  const auto width = static_cast<size_t>(bits);
  Owned out(from.size() / 8 * width + (from.size() % 8 * width + 7) / 8);
  const Unlocked unlocked(from.size() > kQuick);
  pack_codes(bits, from, out.bytes()).value();
  return out;
}

void unpack(int bits, nanobind::handle packed, nanobind::handle out) {
  Exported from;
  Exported to;
  if (!from.get(packed, PyBUF_SIMPLE)) throw nanobind::type_error("packed: no buffer of bytes");
  if (!to.get(out, PyBUF_WRITABLE)) throw nanobind::type_error("out: no buffer to write");
  Status status;
  {
    const Unlocked unlocked(to.bytes().size() > kQuick);
    status = unpack_codes(bits, from.bytes(), 0, to.bytes());
  }
  if (!status) throw nanobind::value_error(status.error().message.c_str());
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
