// dequant._cuda, the extension module of CUDA devices.
#include "python/cuda/module.h"

#include <nanobind/ndarray.h>

#include <string>

#include "dequant/version.h"
#include "python/core/dlpack.h"
#include "python/core/raise.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

int device_count() { return checked(cuda::devices().count()); }
int current_device() { return checked(cuda::devices().current()); }
int device_of(uintptr_t address) {
  return checked(cuda::devices().of(reinterpret_cast<const void*>(address)));
}

nb::tuple sizes_of(const nb::ndarray<nb::ro>& array, bool strides) {
  nb::list sizes;
  for (size_t i = 0; i < array.ndim(); ++i) {
    if (strides) {
      sizes.append(array.stride(i));
    } else {
      sizes.append(array.shape(i));
    }
  }
  return nb::tuple(sizes);
}

/// The device, the address, the name of the element type or None, the shape, the strides in
/// elements, and what keeps the memory.
nb::tuple from_dlpack(nb::handle capsule) {
  const auto array = nb::cast<nb::ndarray<nb::ro>>(capsule);
  const int kind = array.device_type();
  if (kind != nb::device::cuda::value && kind != nb::device::cuda_managed::value) {
    const std::string type = std::to_string(kind);
    throw nb::buffer_error(("its memory is of a device of type " + type).c_str());
  }
  const auto element = element_of_dlpack(array.dtype());
  const nb::capsule keeper(new nb::ndarray<nb::ro>(array),
                           [](void* p) noexcept { delete static_cast<nb::ndarray<nb::ro>*>(p); });
  const nb::object text =
      element ? nb::object(nb::str(name(*element).data(), name(*element).size())) : nb::none();
  return nb::make_tuple(array.device_id(), reinterpret_cast<uintptr_t>(array.data()), text,
                        sizes_of(array, false), sizes_of(array, true), keeper);
}

}  // namespace

OnDevice::OnDevice(int device) : before_(checked(cuda::devices().current())) {
  if (const auto status = cuda::devices().use(device); !status) raise(status.error());
}

OnDevice::~OnDevice() { (void)cuda::devices().use(before_); }

}  // namespace dequant::python

NB_MODULE(_cuda, m) {
  using namespace dequant::python;
  nb::set_leak_warnings(false);
  find_errors();
  m.attr("__version__") = DEQUANT_VERSION;
  m.def("device_count", device_count);
  m.def("current_device", current_device);
  m.def("device_of", device_of, "address"_a);
  m.def("from_dlpack", from_dlpack, "capsule"_a);
  add_run(m);
  add_array(m);
  add_loader(m);
  add_test_functions(m);
}
