// The steps that the functions of all dialects share.
#include "python/core/call.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>

#include "dequant/executor.h"
#include "python/core/numpy.h"
#include "python/core/unlocked.h"

namespace dequant::python {
namespace nb = nanobind;
namespace {

[[noreturn]] void raise_type(const char* parameter, const char* wanted, nb::handle object) {
  const nb::object type = object.type().attr("__name__");
  PyErr_Format(PyExc_TypeError, "%s: %s is wanted, not %S", parameter, wanted, type.ptr());
  throw nb::python_error();
}

}  // namespace

int64_t integer(const char* parameter, nb::handle object) {
  if (PyBool_Check(object.ptr()) || !PyIndex_Check(object.ptr()))
    raise_type(parameter, "an int", object);
  const auto number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) {
    PyErr_Format(PyExc_OverflowError, "%s: %R does not fit in 64 bits", parameter, number.ptr());
    throw nb::python_error();
  }
  return value;
}

std::optional<int64_t> optional_integer(const char* parameter, nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(integer(parameter, object));
}

bool boolean(const char* parameter, nb::handle object) {
  if (!PyBool_Check(object.ptr()) && !is_numpy_bool(object))
    raise_type(parameter, "True or False", object);
  return PyObject_IsTrue(object.ptr()) == 1;
}

std::string text(const char* parameter, nb::handle object) {
  if (!PyUnicode_Check(object.ptr())) raise_type(parameter, "a string", object);
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (utf8 == nullptr) throw nb::python_error();  // UnicodeEncodeError, which is a ValueError
  return {utf8, static_cast<size_t>(size)};
}

int threads_of(nb::handle threads) {
  if (threads.is_none()) return 0;
  const int64_t number = integer("threads", threads);
  if (number < 0) {
    PyErr_Format(PyExc_ValueError,
                 "threads: %R is no number of threads; 0 is one for each processor", threads.ptr());
    throw nb::python_error();
  }
  return static_cast<int>(std::min<int64_t>(number, std::numeric_limits<int>::max()));
}

OptionalTensor::OptionalTensor(const char* name, nb::handle object, Element numbers) {
  if (!object.is_none()) tensor_.emplace(name, object, &numbers);
}

std::optional<TensorType> OptionalTensor::type() const {
  return tensor_ ? std::optional(tensor_->type()) : std::nullopt;
}

std::span<const std::byte> OptionalTensor::bytes() const {
  return tensor_ ? tensor_->bytes() : std::span<const std::byte>();
}

nb::object run_plan(const Plan& plan, Buffers buffers, Shape shape, const Wanted& wanted,
                    Inputs inputs) {
  ThreadPool pool(threads_of(wanted.threads));
  const auto on_device = [](const Tensor* tensor) {
    return tensor != nullptr && tensor->on_device();
  };
  if (std::any_of(inputs.begin(), inputs.end(), on_device))
    return run_on_device(plan, buffers, shape, wanted, inputs);
  const Output y({plan.output, shape}, wanted.out, wanted.like);
  buffers.y = y.bytes();
  Status status;
  {
    const Unlocked unlocked;
    status = run(plan, buffers, {.executor = pool.executor()});
  }
  if (!status) raise(status.error());
  return y.result();
}

std::string documented(const char* own) {
  return std::string(own) + R"(

out       a contiguous array for the result, of the result's shape and dtype; it is returned
threads   the largest number of threads; None or 0: one for each processor
like      "torch": the result is a tensor of torch instead of a numpy array

Tensors are numpy arrays (with dtypes of ml_dtypes, too), objects that share their memory with
numpy, dequant.Packed, or, for scales and zero points, Python numbers and lists of them. Where they
are on a CUDA device, the result is there, of the library of the first tensor. Raises
ValueError for what the specification forbids, dequant.UnsupportedError, TypeError or OverflowError;
`out` is then unchanged.)";
}

}  // namespace dequant::python
