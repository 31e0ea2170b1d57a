// Exceptions of Python for errors of the library.
#include "python/core/raise.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace dequant::python {
namespace nb = nanobind;
namespace {

// Set by find_errors() when the module is imported.
PyObject* unsupported_error;
PyObject* system_error;

PyObject* exception_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::unsupported: return unsupported_error;
    case ErrorCode::io: return PyExc_OSError;
    case ErrorCode::out_of_memory: return PyExc_MemoryError;
    default: return PyExc_ValueError;
  }
}

/// Raises the subclass of OSError that belongs to errno, as Python's own functions do, so that
/// programs can distinguish errors by class or by `errno`, also those that another process raised.
/// The message is the library's.
[[noreturn]] void raise_system(const Error& error) {
  const nb::object exception = nb::handle(system_error)(error.system, error.message);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

}  // namespace

void find_errors() {
  const auto module = nb::module_::import_("dequant._errors");
  unsupported_error = nb::object(module.attr("UnsupportedError")).release().ptr();
  system_error = nb::object(module.attr("system_error")).release().ptr();
}

void raise(const Error& error) {
  if (error.code == ErrorCode::io && error.system != 0) raise_system(error);
  PyErr_SetString(exception_of(error.code), error.message.c_str());
  throw nb::python_error();
}

}  // namespace dequant::python
