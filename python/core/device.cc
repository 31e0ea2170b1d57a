// Calls whose tensors are on a CUDA device: dequant._device_call decides where the result goes, and
// dequant._cuda runs the plan.
#include <algorithm>
#include <cstddef>

#include "python/core/call.h"
#include "python/core/device_call.h"
#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
namespace {

bool is_of_device(std::span<const std::byte> bytes, Inputs inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [&](const Tensor* t) {
    return t != nullptr && t->on_device() && t->bytes().data() == bytes.data();
  });
}

}  // namespace

nb::object run_on_device(const Plan& plan, const Buffers& buffers, Shape shape,
                         const Wanted& wanted, Inputs inputs) {
  DeviceCall call{&plan, buffers};
  for (size_t i = 0; i < std::size(DeviceCall::kInputs); ++i) {
    const auto bytes = buffers.*DeviceCall::kInputs[i];
    if (!bytes.empty() && !is_of_device(bytes, inputs)) call.on_host |= uint32_t{1} << i;
  }
  nb::list views;
  nb::list of_host;  // the names of arrays, which do not go to a device by themselves
  for (const Tensor* tensor : inputs) {
    if (tensor == nullptr || (!tensor->on_device() && tensor->is_number())) continue;
    if (tensor->on_device()) {
      views.append(nb::make_tuple(tensor->name(), tensor->view()));
    } else {
      of_host.append(tensor->name());
    }
  }
  const nb::capsule capsule(&call, DeviceCall::kName);
  return nb::module_::import_("dequant._device_call")
      .attr("run")(capsule, views, of_host, to_str(plan.output), to_tuple(shape), wanted.out,
                   wanted.like);
}

}  // namespace dequant::python
