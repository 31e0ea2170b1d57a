// Copies of what cannot be borrowed, for which other threads of Python need not wait.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace dequant::python {

/// Bytes that nobody has set yet. They are Python's, so that its own tools see how many there are.
class Owned {
 public:
  Owned() = default;
  explicit Owned(size_t size) : bytes_(static_cast<std::byte*>(PyMem_Malloc(size))), size_(size) {
    if (bytes_ == nullptr) throw std::bad_alloc();
  }
  std::span<std::byte> bytes() const { return {bytes_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { PyMem_Free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  size_t size_ = 0;
};

/// Codes of `bits` bits, less than 8, from the low bits of a byte each.
Owned packed(int bits, std::span<const std::byte> from);

/// Codes of `bits` bits, less than 8, from packed bytes to a byte each of the buffer `out`, as many
/// as it has. Raises ValueError where `packed` has fewer.
void unpack(int bits, nanobind::handle packed, nanobind::handle out);

/// The elements of a buffer with strides, in the order of their indices. Items are of 1, 2 or 4
/// bytes.
Owned contiguous(const Py_buffer& view);

}  // namespace dequant::python
