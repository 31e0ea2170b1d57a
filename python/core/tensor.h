// Tensors of Python programs as the library sees them: packed bytes, an element, a shape.
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

/// A buffer that an object exports. The object keeps its memory where it is as long as this lives.
class Exported {
 public:
  Exported() = default;
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;
  ~Exported() { release(); }

  /// Instead of what it held before. False, without a Python error, where the object exports no
  /// memory of that kind.
  bool get(nanobind::handle object, int flags);
  void release();
  const Py_buffer& view() const { return view_; }
  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

/// A shape of Python's. numpy allows 64 dimensions.
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

/// What memory a tensor may have. Other is copied.
enum class Layout : uint8_t {
  packed,
  strided,  ///< any strides of whole elements but negative ones
};

/// A tensor to read; it holds the memory.
class Tensor {
 public:
  /// Borrows contiguous numpy arrays at once and leaves all else to adapt() of dequant._arrays,
  /// which raises TypeError for what is no tensor, or has elements that dequant does not know. A
  /// Python number becomes a scalar of the element that `numbers` names, rounded where that is
  /// float32; OverflowError where it does not fit.
  Tensor(const char* name, nanobind::handle object, const Element* numbers = nullptr,
         Layout layout = Layout::packed);

  TensorType type() const { return {element_, sizes_.shape()}; }
  /// Of a strided tensor, in elements; none if it is packed.
  std::optional<Shape> strides() const {
    return is_packed_ ? std::nullopt : std::optional(strides_.shape());
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  bool borrow(nanobind::handle object, Layout layout);
  bool take_strides();
  bool take_packed(nanobind::handle object);
  bool take_bytes(nanobind::handle object);
  void own(Owned bytes);
  bool take_number(const char* name, nanobind::handle object, Element element);

  Element element_ = Element::uint8;
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
  /// What the caller gets: `out` itself, or the new array.
  nanobind::object result() const { return result_; }

 private:
  bool borrow(nanobind::handle object, TensorType type);

  nanobind::object result_;
  Exported exported_;
};

}  // namespace dequant::python
