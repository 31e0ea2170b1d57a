// Tensor arguments of Python functions as packed bytes, an element type and a shape.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "dequant/tensor.h"
#include "python/core/copies.h"

namespace dequant::python {

/// A buffer that an object exports. The memory stays valid and in place until release().
class Exported {
 public:
  Exported() = default;
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() { release(); }

  /// Releases the held buffer and gets the buffer of `object`. Returns false, without a Python
  /// error, if the object exports no buffer that meets `flags`.
  bool get(nanobind::handle object, int flags);
  void release();
  const Py_buffer& view() const { return view_; }
  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

/// A shape or strides. numpy allows 64 dimensions.
class Sizes {
 public:
  /// Raises ValueError for more than 64 dimensions.
  void assign(std::span<const Py_ssize_t> sizes);
  void assign(nanobind::tuple sizes);
  Shape shape() const { return {sizes_.data(), rank_}; }

 private:
  int64_t* resize(size_t rank);

  std::array<int64_t, 64> sizes_;
  size_t rank_ = 0;
};

/// The layouts of memory that a function reads. A tensor of another layout is copied.
enum class Layout : uint8_t {
  packed,
  strided,  ///< strides are non-negative and multiples of the element size
};

/// A tensor to read, in memory of the host or on a CUDA device. It keeps the memory valid.
class Tensor {
 public:
  /// Reads numpy arrays and scalars, dequant.Packed and bytes itself, and passes other objects to
  /// adapt() of dequant._arrays, also those on a device. adapt() raises TypeError for an object
  /// that is no tensor, or whose dtype is no element type. If `numbers` is given, a Python number
  /// becomes a scalar of this element type; a float is rounded to float32. OverflowError if the
  /// number is out of range. `name` must outlive the tensor.
  Tensor(const char* name, nanobind::handle object, const Element* numbers = nullptr,
         Layout layout = Layout::packed);

  TensorType type() const { return {element_, sizes_.shape()}; }
  /// The strides of a strided tensor, in elements; nothing for a packed tensor.
  std::optional<Shape> strides() const {
    return is_packed_ ? std::nullopt : std::optional(strides_.shape());
  }
  /// Of a tensor on a device: addresses of the device.
  std::span<const std::byte> bytes() const { return bytes_; }

  const char* name() const { return name_; }
  bool on_device() const { return view_.is_valid(); }
  /// Of a tensor on a device: its View of dequant._device.
  nanobind::object view() const { return view_; }
  /// True for Python numbers, lists of them, and scalars of numpy, which go to any device.
  bool is_number() const { return is_number_; }

 private:
  bool borrow(nanobind::handle object, Layout layout);
  bool take_strides();
  bool take_strides(nanobind::tuple strides);
  bool take_packed(nanobind::handle object);
  bool take_bytes(nanobind::handle object);
  void take_view(nanobind::object view, Layout layout);
  void own(Owned bytes);
  bool take_number(const char* name, nanobind::handle object, Element element);

  const char* name_;
  nanobind::object view_;
  Element element_ = Element::uint8;
  bool is_number_ = false;
  bool is_packed_ = true;
  Sizes sizes_;
  Sizes strides_;
  std::span<const std::byte> bytes_;
  Exported exported_;
  std::array<std::byte, 4> number_;
  Owned owned_;
};

/// The tensor to write: `out` if given, else a new array.
class Output {
 public:
  /// Raises TypeError or ValueError where `out` is not writable, contiguous memory of that type.
  /// `like` is None, "numpy" or "torch".
  Output(TensorType type, nanobind::handle out, nanobind::handle like);

  std::span<std::byte> bytes() const { return exported_.bytes(); }
  /// The return value for the caller: `out` itself, or the new array.
  nanobind::object result() const { return result_; }

 private:
  bool borrow(nanobind::handle object, TensorType type);

  nanobind::object result_;
  Exported exported_;
};

}  // namespace dequant::python
