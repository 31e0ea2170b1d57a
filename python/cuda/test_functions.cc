// What tests see of the devices in host memory.
#include "python/cuda/module.h"

#ifdef DEQUANT_CUDA_HOST
#include "cuda/device/device_host.h"
#endif

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;

void add_test_functions([[maybe_unused]] nb::module_& m) {
#ifdef DEQUANT_CUDA_HOST
  m.def("host_settle", cuda::host_settle);
  m.def(
      "host_capture",
      [](uintptr_t stream, bool captured) { cuda::host_capture(stream_of(stream), captured); },
      "stream"_a, "captured"_a);
  m.def("host_fail_after", cuda::host_fail_after, "calls"_a);
  m.def("host_counts", [] {
    const cuda::HostCounts counts = cuda::host_counts();
    nb::dict out;
    out["device_bytes"] = counts.device_bytes;
    out["pinned_bytes"] = counts.pinned_bytes;
    out["most_pinned_bytes"] = counts.most_pinned_bytes;
    out["streams"] = counts.streams;
    out["events"] = counts.events;
    out["waiting"] = counts.waiting;
    return out;
  });
#endif
}

}  // namespace dequant::python
