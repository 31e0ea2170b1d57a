// numpy's classes, and its dtypes as element types of the library.
#include "python/core/numpy.h"

#include <nanobind/stl/string_view.h>

#include <string_view>
#include <utility>
#include <vector>

namespace dequant::python {
namespace nb = nanobind;
namespace {

/// Objects of numpy and of the package. They are imported when this module is imported: an import
/// may release the GIL, so an import in the initializer of a static variable could deadlock with
/// another thread that waits for the initializer.
struct Objects {
  PyObject* ndarray;
  PyObject* generic;
  PyObject* boolean;
  PyObject* empty;
  PyObject* float32;
  PyObject* float16;
  PyObject* packed;
} objects;

/// A cache of the element types of dtypes and dtype classes, for the first 64 of them.
class Known {
 public:
  std::optional<Items> find(nb::handle object) {
    const nb::ft_lock_guard lock(mutex_);
    for (const auto& [other, items] : known_) {
      if (other.is(object)) return items;
    }
    return {};
  }

  /// Keeps a reference to the object for ever, so that no other object gets its address.
  void keep(nb::handle object, Items items) {
    const nb::ft_lock_guard lock(mutex_);
    if (known_.size() < 64) known_.emplace_back(nb::borrow(object).release(), items);
  }

 private:
  nb::ft_mutex mutex_;
  std::vector<std::pair<nb::handle, Items>> known_;
};

nb::object attribute(nb::handle object, PyObject* name) {
  nb::object value = nb::steal(PyObject_GetAttr(object.ptr(), name));
  if (!value.is_valid()) throw nb::python_error();
  return value;
}

}  // namespace

bool is_plain_array(nb::handle object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == objects.ndarray;
}

bool is_packed(nb::handle object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == objects.packed;
}

bool is_scalar(nb::handle object) {
  auto* const generic = reinterpret_cast<PyTypeObject*>(objects.generic);
  return PyType_IsSubtype(Py_TYPE(object.ptr()), generic) != 0;
}

bool is_numpy_bool(nb::handle object) {
  return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == objects.boolean;
}

std::optional<Items> items_of(nb::handle object) {
  static Known dtypes;
  static Known classes;
  static PyObject* const dtype_of = PyUnicode_InternFromString("dtype");
  static PyObject* const type_of = PyUnicode_InternFromString("type");
  const auto dtype = attribute(object, dtype_of);
  if (const auto items = dtypes.find(dtype)) return items;
  // Each unpickled array has a new dtype object; the class of these dtypes is the same.
  const auto type = attribute(dtype, type_of);
  if (nb::cast<bool>(dtype.attr("isnative")) && nb::object(dtype.attr("names")).is_none()) {
    if (const auto items = classes.find(type)) return items;
  }
  const nb::object described = arrays("describe")(dtype);
  if (described.is_none()) return {};
  const auto pair = nb::cast<nb::tuple>(described);
  const Items items{element_from_name(nb::cast<std::string_view>(pair[0])).value(),
                    nb::cast<bool>(pair[1])};
  dtypes.keep(dtype, items);
  classes.keep(type, items);
  return items;
}

nb::object new_array(TensorType type, nb::handle shape) {
  const bool wide = type.element == Element::float32;
  return nb::handle(objects.empty)(shape, nb::handle(wide ? objects.float32 : objects.float16));
}

nb::tuple to_tuple(Shape shape) {
  nb::list sizes;
  for (const int64_t size : shape) sizes.append(size);
  return nb::tuple(sizes);
}

nb::str to_str(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::str to_str(Element element) { return to_str(name(element)); }

nb::object arrays(const char* function) {
  return nb::module_::import_("dequant._arrays").attr(function);
}

Element element_of(const char* parameter, nb::handle dtype) {
  if (PyUnicode_CheckExact(dtype.ptr()) != 0) {
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(dtype.ptr(), &size);
    if (text == nullptr) PyErr_Clear();  // a lone surrogate; dequant._dtypes refuses it below
    const std::string_view name(text, text == nullptr ? 0 : static_cast<size_t>(size));
    if (const auto known = element_from_name(name)) return *known;
  }
  const auto found = arrays("element_of")(parameter, dtype);
  return element_from_name(nb::cast<std::string_view>(found)).value();
}

std::optional<Element> output_of(const char* parameter, nb::handle dtype) {
  if (dtype.is_none()) return std::nullopt;
  const Element element = element_of(parameter, dtype);
  if (is_output(element)) return element;
  const std::string stands = std::string(parameter) + ": " + std::string(name(element));
  throw nb::type_error((stands + " is none of float32, float16, bfloat16").c_str());
}

void find_names() {
  const auto find = [](const char* module, const char* name) {
    return nb::object(nb::module_::import_(module).attr(name)).release().ptr();
  };
  objects = {find("numpy", "ndarray"),
             find("numpy", "generic"),
             find("numpy", "bool_"),
             find("numpy", "empty"),
             find("numpy", "float32"),
             find("numpy", "float16"),
             nullptr};
}

void set_packed(nb::handle type) { objects.packed = nb::borrow(type).release().ptr(); }

}  // namespace dequant::python
