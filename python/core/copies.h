// Copies of tensors whose memory the library cannot read as it is. Large copies release the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace dequant::python {

/// Uninitialized bytes, allocated by Python, so that tracemalloc counts them.
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

/// Packs codes of `bits` bits, less than 8. `from` has one code in the low bits of each byte.
Owned packed(int bits, std::span<const std::byte> from);

/// Unpacks codes of `bits` bits, less than 8, one to each byte of the buffer `out`. The size of
/// `out` is the number of codes. Raises ValueError if `packed` has fewer codes.
void unpack(int bits, nanobind::handle packed, nanobind::handle out);

/// The elements of a strided buffer in row-major order. Items have 1, 2 or 4 bytes.
Owned contiguous(const Py_buffer& view);

}  // namespace dequant::python
