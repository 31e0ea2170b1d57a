// Tensor arguments as packed bytes, an element type and a shape.
#include "python/core/tensor.h"

#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
namespace {

/// Bytes at the address of a view.
std::span<const std::byte> bytes_at(nb::handle view, int64_t size) {
  const auto address = nb::cast<uintptr_t>(view.attr("address"));
  return {reinterpret_cast<const std::byte*>(address), static_cast<size_t>(size)};
}

[[noreturn]] void refuse_number(PyObject* type, const char* name, nb::handle object,
                                const char* problem, Element element) {
  PyErr_Format(type, "%s: %R %s %s", name, object.ptr(), problem, dequant::name(element).data());
  throw nb::python_error();
}

}  // namespace

void Exported::release() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
}

bool Exported::get(nb::handle object, int flags) {
  release();
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) == 0) return true;
  PyErr_Clear();
  view_.obj = nullptr;
  return false;
}

int64_t* Sizes::resize(size_t rank) {
  if (rank > sizes_.size()) throw nb::value_error("a shape of more than 64 dimensions");
  rank_ = rank;
  return sizes_.data();
}

void Sizes::assign(std::span<const Py_ssize_t> sizes) {
  std::copy(sizes.begin(), sizes.end(), resize(sizes.size()));
}

void Sizes::assign(nb::tuple sizes) {
  int64_t* next = resize(sizes.size());
  for (const nb::handle size : sizes) *next++ = nb::cast<int64_t>(size);
}

Tensor::Tensor(const char* name, nb::handle object, const Element* numbers, Layout layout)
    : name_(name) {
  if (borrow(object, layout) || take_packed(object) || take_bytes(object) ||
      (numbers != nullptr && take_number(name, object, *numbers)))
    return;
  const nb::object number = numbers == nullptr ? nb::none() : nb::object(to_str(*numbers));
  const nb::object found = arrays("adapt")(name, object, number);
  if (PyTuple_CheckExact(found.ptr()) == 0) {
    take_view(found, layout);
    return;
  }
  const auto adapted = nb::borrow<nb::tuple>(found);
  is_number_ = PyList_Check(object.ptr()) != 0 || PyTuple_Check(object.ptr()) != 0;
  element_ = element_from_name(nb::cast<std::string_view>(adapted[1])).value();
  sizes_.assign(nb::cast<nb::tuple>(adapted[2]));
  if (!exported_.get(adapted[0], PyBUF_SIMPLE)) throw nb::type_error("adapt() made no buffer");
  bytes_ = exported_.bytes();
  if (nb::cast<bool>(adapted[3])) own(packed(bits(element_), bytes_));
}

bool Tensor::borrow(nb::handle object, Layout layout) {
  is_number_ = is_scalar(object);
  if (!is_number_ && !is_plain_array(object)) return false;
  const auto items = items_of(object);
  if (!items) return false;
  const bool contiguous = exported_.get(object, PyBUF_C_CONTIGUOUS);
  if (!contiguous && !exported_.get(object, PyBUF_STRIDES)) return false;
  const Py_buffer& view = exported_.view();
  element_ = items->element;
  sizes_.assign({view.shape, static_cast<size_t>(view.ndim)});
  bytes_ = exported_.bytes();
  if (!contiguous) {
    if (layout == Layout::strided && !items->one_per_byte && take_strides()) return true;
    own(python::contiguous(view));
  }
  if (items->one_per_byte) own(packed(bits(element_), bytes_));
  return true;
}

void Tensor::own(Owned bytes) {
  owned_ = std::move(bytes);
  bytes_ = owned_.bytes();
}

/// Elements of bytes and bytearray objects are uint8.
bool Tensor::take_bytes(nb::handle object) {
  if (PyBytes_CheckExact(object.ptr()) == 0 && PyByteArray_CheckExact(object.ptr()) == 0)
    return false;
  if (!exported_.get(object, PyBUF_SIMPLE)) return false;
  element_ = Element::uint8;
  const Py_ssize_t size = exported_.view().len;
  sizes_.assign({&size, 1});
  bytes_ = exported_.bytes();
  return true;
}

bool Tensor::take_packed(nb::handle object) {
  if (!is_packed(object)) return false;
  element_ = element_from_name(nb::cast<std::string_view>(object.attr("dtype"))).value();
  sizes_.assign(nb::cast<nb::tuple>(object.attr("shape")));
  const nb::object data = object.attr("data");
  if (exported_.get(data, PyBUF_SIMPLE)) {
    bytes_ = exported_.bytes();
    return true;
  }
  view_ = data.attr("current")();
  bytes_ = bytes_at(view_, packed_bytes(element_, element_count(sizes_.shape()).value()).value());
  return true;
}

/// A view of a tensor on a device, of dequant._device.
void Tensor::take_view(nb::object view, Layout layout) {
  element_ = element_from_name(nb::cast<std::string_view>(view.attr("element"))).value();
  sizes_.assign(nb::cast<nb::tuple>(view.attr("shape")));
  const nb::object strides = view.attr("strides");
  int64_t count = element_count(sizes_.shape()).value();
  if (!strides.is_none() && layout == Layout::strided &&
      take_strides(nb::cast<nb::tuple>(strides))) {
    count = 1;
    for (size_t i = 0; i < sizes_.shape().size(); ++i)
      count += (sizes_.shape()[i] - 1) * strides_.shape()[i];
  } else if (!strides.is_none()) {
    view = view.attr("contiguous")();
  }
  bytes_ = bytes_at(view, packed_bytes(element_, count).value());
  view_ = std::move(view);
}

bool Tensor::take_strides() {
  const Py_buffer& view = exported_.view();
  std::array<Py_ssize_t, 64> strides;
  Py_ssize_t last = 0;  // the largest offset of an element, in elements
  const auto rank = static_cast<size_t>(view.ndim);
  for (size_t i = 0; i < rank; ++i) {
    if (view.strides[i] < 0 || view.strides[i] % view.itemsize != 0) return false;
    strides[i] = view.strides[i] / view.itemsize;
    last += (view.shape[i] - 1) * strides[i];
  }
  strides_.assign({strides.data(), rank});
  is_packed_ = false;
  bytes_ = {static_cast<const std::byte*>(view.buf),
            static_cast<size_t>((last + 1) * view.itemsize)};
  return true;
}

/// The strides of a view, in elements; false for negative ones.
bool Tensor::take_strides(nb::tuple strides) {
  strides_.assign(strides);
  const Shape steps = strides_.shape();
  is_packed_ = std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step < 0; });
  return !is_packed_;
}

bool Tensor::take_number(const char* name, nb::handle object, Element element) {
  const bool is_float = PyFloat_Check(object.ptr()) != 0;  // also true for numpy.float64
  if (!is_float && PyLong_CheckExact(object.ptr()) == 0) return false;
  uint32_t code = 0;
  if (element == Element::float32) {
    const double wide = PyFloat_AsDouble(object.ptr());
    if (wide == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    const auto value = static_cast<float>(wide);
    if (std::isinf(value) && std::isfinite(wide))
      refuse_number(PyExc_OverflowError, name, object, "does not fit in", element);
    code = std::bit_cast<uint32_t>(value);
  } else if (is_float || kind(element) == Kind::floating) {
    refuse_number(PyExc_TypeError, name, object, "is a plain number, which says no code of",
                  element);
  } else {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
    const int64_t codes = int64_t{1} << bits(element);
    const int64_t least = kind(element) == Kind::signed_integer ? -codes / 2 : 0;
    if (overflow != 0 || value < least || value >= least + codes)
      refuse_number(PyExc_OverflowError, name, object, "does not fit in", element);
    code = static_cast<uint32_t>(value);
  }
  std::memcpy(number_.data(), &code, sizeof code);
  element_ = element;
  is_number_ = true;
  bytes_ = std::span(number_).first(static_cast<size_t>((bits(element) + 7) / 8));
  return true;
}

Output::Output(TensorType type, nb::handle out, nb::handle like) {
  nb::object bytes;
  if (out.is_none() && like.is_none() && type.element != Element::bfloat16) {
    result_ = new_array(type, to_tuple(type.shape));
    bytes = result_;
  } else if (out.is_none()) {
    const auto made =
        nb::cast<nb::tuple>(arrays("empty")(to_str(type.element), to_tuple(type.shape), like));
    result_ = made[0];
    bytes = made[1];
  } else {
    if (!like.is_none()) throw nb::value_error("like: out says already where the result goes");
    result_ = nb::borrow(out);
    if (borrow(out, type)) return;
    bytes = arrays("adapt_out")(out, to_str(type.element), to_tuple(type.shape));
  }
  if (!exported_.get(bytes, PyBUF_WRITABLE))
    throw nb::type_error("out: its memory cannot be written");
}

bool Output::borrow(nb::handle object, TensorType type) {
  if (!is_plain_array(object)) return false;
  const auto items = items_of(object);
  if (!items || items->element != type.element) return false;
  if (!exported_.get(object, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) return false;
  const Py_buffer& view = exported_.view();
  return std::equal(view.shape, view.shape + view.ndim, type.shape.begin(), type.shape.end());
}

}  // namespace dequant::python
