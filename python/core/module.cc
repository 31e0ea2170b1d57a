// dequant._core, the extension module: the dialects as functions on tensors, and model files. Users
// import the package dequant, which wraps this module.
#include <nanobind/nanobind.h>

#include "dequant/element.h"
#include "dequant/version.h"
#include "python/core/call.h"
#include "python/core/copies.h"
#include "python/core/model.h"
#include "python/core/numpy.h"

NB_MODULE(_core, m) {
  namespace nb = nanobind;
  using namespace nb::literals;
  // A daemon thread that is inside a call when the interpreter shuts down never frees its objects.
  nb::set_leak_warnings(false);
  dequant::python::find_names();
  dequant::python::find_errors();
  m.attr("__version__") = DEQUANT_VERSION;
  nb::dict bits;
  for (const dequant::Element element : dequant::elements()) {
    const std::string_view name = dequant::name(element);
    bits[nb::str(name.data(), name.size())] = dequant::bits(element);
  }
  m.attr("BITS") = bits;
  m.def("from_dlpack", dequant::python::from_dlpack, "object"_a, "writable"_a);
  m.def("unpack", dequant::python::unpack, "bits"_a, "packed"_a, "out"_a);
  m.def("set_packed", dequant::python::set_packed, "type"_a);
  dequant::python::add_linear(m);
  dequant::python::add_tensorflow(m);
  dequant::python::add_directml(m);
  dequant::python::add_schemes(m);
  dequant::python::add_floats(m);
  dequant::python::add_model(m);
  dequant::python::add_convert(m);
  dequant::python::add_tasks(m);
}
