// dequant._cuda, the extension module of CUDA devices. dequant._device wraps it for the package.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "cuda/device/device.h"

namespace dequant::python {

/// A stream by the number that DLPack and torch give it: 0 and 1 are the default stream.
inline cuda::Stream stream_of(uintptr_t number) {
  return reinterpret_cast<cuda::Stream>(number == 1 ? 0 : number);
}

/// Makes a device that of the calling thread, until the destructor. Raises.
class OnDevice {
 public:
  explicit OnDevice(int device);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

 private:
  int before_;
};

void add_run(nanobind::module_& m);
void add_array(nanobind::module_& m);
void add_loader(nanobind::module_& m);
/// What the tests see of the devices in host memory; nothing in the module of CUDA.
void add_test_functions(nanobind::module_& m);

}  // namespace dequant::python
