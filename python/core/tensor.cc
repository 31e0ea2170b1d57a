// Tensors of Python programs as the library sees them.
#include "python/core/tensor.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace dequant::python {
namespace nb = nanobind;
namespace {

/// What is used of numpy and of the package. Found when the module is imported: an import may give the
/// interpreter's lock away, so that in the initializer of a static variable it could wait for ever for
/// another thread's.
struct Names {
  PyObject* ndarray;
  PyObject* generic;
  PyObject* empty;
  PyObject* float32;
  PyObject* float16;
  PyObject* packed;
} names;

/// Subclasses may mean more than their memory, as masked arrays do, so they are no plain arrays.
bool is_plain_array(nb::handle object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == names.ndarray;
}

bool is_scalar(nb::handle object) {
  auto* const generic = reinterpret_cast<PyTypeObject*>(names.generic);
  return PyType_IsSubtype(Py_TYPE(object.ptr()), generic) != 0;
}

/// What a dtype of numpy's says of memory.
struct Items {
  Element element;
  bool one_per_byte;  ///< of less than 8 bits, as ml_dtypes keeps them
};

/// Dtypes are few objects that live long, so what _arrays says of one is kept. None for dtypes whose memory
/// is not that of an element.
std::optional<Items> items_of(nb::handle object) {
  static nb::ft_mutex mutex;
  static std::vector<std::pair<nb::handle, Items>> known;
  static PyObject* const attribute = PyUnicode_InternFromString("dtype");
  const auto dtype = nb::steal(PyObject_GetAttr(object.ptr(), attribute));
  if (!dtype.is_valid()) throw nb::python_error();
  {
    const nb::ft_lock_guard lock(mutex);
    for (const auto& [other, items] : known) {
      if (other.is(dtype)) return items;
    }
  }
  const nb::object described = arrays("describe")(dtype);
  if (described.is_none()) return {};
  const auto pair = nb::cast<nb::tuple>(described);
  const Items items{element_from_name(nb::cast<std::string_view>(pair[0])).value(),
                    nb::cast<bool>(pair[1])};
  const nb::ft_lock_guard lock(mutex);
  if (known.size() < 64) known.emplace_back(nb::object(dtype).release(), items);
  return items;
}

/// A new array of float32 or float16.
nb::object new_array(TensorType type, nb::handle shape) {
  const bool wide = type.element == Element::float32;
  return nb::handle(names.empty)(shape, nb::handle(wide ? names.float32 : names.float16));
}

[[noreturn]] void refuse_number(PyObject* type, const char* name, nb::handle object,
                                const char* problem, Element element) {
  PyErr_Format(type, "%s: %R %s %s", name, object.ptr(), problem, dequant::name(element).data());
  throw nb::python_error();
}

nb::tuple to_tuple(Shape shape) {
  nb::list sizes;
  for (const int64_t size : shape) sizes.append(size);
  return nb::tuple(sizes);
}

nb::str to_str(Element element) {
  const std::string_view text = name(element);
  return nb::str(text.data(), text.size());
}

std::optional<Element> element_of_dlpack(nb::dlpack::dtype type) {
  // Codes of DLPack 1.1 for what numpy has no types for.
  constexpr std::pair<uint8_t, Element> kElements[] = {
      {4, Element::bfloat16},        {10, Element::float8e4m3fn},
      {11, Element::float8e4m3fnuz}, {12, Element::float8e5m2},
      {13, Element::float8e5m2fnuz}, {14, Element::float8e8m0},
      {2, Element::float32},         {2, Element::float16},
      {1, Element::uint8},           {1, Element::uint16},
      {1, Element::uint32},          {0, Element::int8},
      {0, Element::int16},           {0, Element::int32}};
  for (const auto& [code, element] : kElements) {
    if (type.lanes == 1 && type.code == code && type.bits == bits(element)) return element;
  }
  return {};
}

/// The memory as an array of numpy's, of unsigned integers that hold one element each.
template <class Array>
nb::object codes_of(nb::handle object) {
  Array array;
  if (!nb::try_cast(object, array, false)) return nb::none();
  const auto element = element_of_dlpack(array.dtype());
  if (!element) return nb::none();
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(array.shape(i));
    strides.push_back(array.stride(i));
  }
  const nb::capsule owner(new Array(array),
                          [](void* p) noexcept { delete static_cast<Array*>(p); });
  nb::dlpack::dtype codes = nb::dtype<uint8_t>();
  codes.bits = array.dtype().bits;
  using View =
      std::conditional_t<Array::ReadOnly, nb::ndarray<nb::numpy, nb::ro>, nb::ndarray<nb::numpy>>;
  const View view(array.data(), shape.size(), shape.data(), owner, strides.data(), codes);
  return nb::make_tuple(view, to_str(*element));
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

nb::object arrays(const char* function) {
  return nb::module_::import_("dequant._arrays").attr(function);
}

Element element_of(const char* parameter, nb::handle dtype) {
  if (PyUnicode_CheckExact(dtype.ptr()) != 0) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(dtype.ptr(), &size);
    if (text == nullptr) PyErr_Clear();  // a lone surrogate, which is refused below
    const std::string_view name(text, text == nullptr ? 0 : static_cast<size_t>(size));
    if (const auto known = element_from_name(name)) return *known;
  }
  const auto found = arrays("element_of")(parameter, dtype);
  return element_from_name(nb::cast<std::string_view>(found)).value();
}

Tensor::Tensor(const char* name, nb::handle object, const Element* numbers, Layout layout) {
  if (borrow(object, layout) || take_packed(object) ||
      (numbers != nullptr && take_number(name, object, *numbers)))
    return;
  const auto adapted = nb::cast<nb::tuple>(arrays("adapt")(name, object));
  element_ = element_from_name(nb::cast<std::string_view>(adapted[1])).value();
  sizes_.assign(nb::cast<nb::tuple>(adapted[2]));
  if (!exported_.get(adapted[0], PyBUF_SIMPLE)) throw nb::type_error("adapt() made no buffer");
  bytes_ = exported_.bytes();
  if (nb::cast<bool>(adapted[3])) pack();
}

bool Tensor::borrow(nb::handle object, Layout layout) {
  if (!is_plain_array(object) && !is_scalar(object)) return false;
  const auto items = items_of(object);
  if (!items) return false;
  const bool contiguous = exported_.get(object, PyBUF_C_CONTIGUOUS);
  if (!contiguous && (layout == Layout::packed || bits(items->element) < 8 ||
                      !exported_.get(object, PyBUF_STRIDES)))
    return false;
  const Py_buffer& view = exported_.view();
  element_ = items->element;
  sizes_.assign({view.shape, static_cast<size_t>(view.ndim)});
  bytes_ = exported_.bytes();
  if (items->one_per_byte) pack();
  return contiguous || take_strides();
}

bool Tensor::take_packed(nb::handle object) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) != names.packed) return false;
  element_ = element_from_name(nb::cast<std::string_view>(object.attr("dtype"))).value();
  sizes_.assign(nb::cast<nb::tuple>(object.attr("shape")));
  if (!exported_.get(object.attr("data"), PyBUF_SIMPLE)) return false;
  bytes_ = exported_.bytes();
  return true;
}

/// From one element in each byte.
void Tensor::pack() {
  const int width = bits(element_);
  const size_t each = 8 / static_cast<size_t>(width);
  owned_.assign((bytes_.size() + each - 1) / each, std::byte{0});
  const auto mask = static_cast<std::byte>((1 << width) - 1);
  for (size_t i = 0; i < bytes_.size(); ++i)
    owned_[i / each] |= (bytes_[i] & mask) << (static_cast<size_t>(width) * (i % each));
  bytes_ = owned_;
}

bool Tensor::take_strides() {
  const Py_buffer& view = exported_.view();
  std::array<Py_ssize_t, 64> strides;
  Py_ssize_t last = 0;  // element
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

bool Tensor::take_number(const char* name, nb::handle object, Element element) {
  const bool is_float = PyFloat_CheckExact(object.ptr()) != 0;
  if (!is_float && PyLong_CheckExact(object.ptr()) == 0) return false;
  uint32_t code = 0;
  if (element == Element::float32) {
    const double wide = PyFloat_AsDouble(object.ptr());
    if (wide == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    const auto value = static_cast<float>(wide);
    if (std::isinf(value) && std::isfinite(wide))
      refuse_number(PyExc_OverflowError, name, object, "does not fit in", element);
    code = std::bit_cast<uint32_t>(value);
  } else if (is_float || kind(element) == Kind::floating || bits(element) < 8) {
    refuse_number(PyExc_TypeError, name, object, "is not enough for a tensor of", element);
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
  bytes_ = std::span(number_).first(static_cast<size_t>(bits(element) / 8));
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

nb::object from_dlpack(nb::handle object, bool writable) {
  if (writable) return codes_of<nb::ndarray<nb::device::cpu>>(object);
  return codes_of<nb::ndarray<nb::ro, nb::device::cpu>>(object);
}

void find_names() {
  const auto find = [](const char* module, const char* name) {
    return nb::object(nb::module_::import_(module).attr(name)).release().ptr();
  };
  names = {find("numpy", "ndarray"), find("numpy", "generic"), find("numpy", "empty"),
           find("numpy", "float32"), find("numpy", "float16"), nullptr};
}

void set_packed(nb::handle type) { names.packed = nb::borrow(type).release().ptr(); }

}  // namespace dequant::python
