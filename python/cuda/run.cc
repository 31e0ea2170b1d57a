// Running a plan of dequant._core on a device.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cuda/device/scratch.h"
#include "dequant/cuda.h"
#include "python/core/device_call.h"
#include "python/core/raise.h"
#include "python/core/unlocked.h"
#include "python/cuda/module.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

using cuda::Device;
using cuda::Scratch;
using cuda::Stream;

/// Copies the inputs in memory of the host to the device.
Status upload(DeviceCall& call, Stream stream, std::vector<Scratch>& copies) {
  for (size_t i = 0; i < std::size(DeviceCall::kInputs); ++i) {
    auto& input = call.buffers.*DeviceCall::kInputs[i];
    if ((call.on_host >> i & 1U) == 0) continue;
    DEQUANT_TRY(Scratch copy, Scratch::make(cuda::devices(), input.size(), stream));
    DEQUANT_CHECK(cuda::devices().copy_in(copy.bytes().data(), input, stream));
    input = copy.bytes();
    copies.push_back(std::move(copy));
  }
  return {};
}

/// When a graph is launched, arguments in memory of the host are gone, and nobody reads the faults.
Status not_captured(bool on_host) {
  return Error{ErrorCode::unsupported,
               on_host ? "stream: a CUDA graph captures it, and an argument is not on the device"
                       : "stream: a CUDA graph captures it, and the call must wait for the device "
                         "to check the group index or the zero points"};
}

Status run_on(DeviceCall call, std::span<std::byte> y, Stream stream) {
  if (call.on_host != 0 || cuda::needs_faults(*call.plan)) {
    DEQUANT_TRY(const bool captured, cuda::devices().is_captured(stream));
    if (captured) return not_captured(call.on_host != 0);
  }
  std::vector<Scratch> copies;
  DEQUANT_CHECK(upload(call, stream, copies));
  call.buffers.y = y;
  if (!cuda::needs_faults(*call.plan))
    return cuda::devices().run(*call.plan, std::nullopt, call.buffers, stream, nullptr);
  DEQUANT_TRY(cuda::Faults faults, cuda::Faults::make(cuda::devices(), stream));
  DEQUANT_CHECK(cuda::devices().run(*call.plan, std::nullopt, call.buffers, stream, faults.word()));
  return faults.check();
}

Status run_between(const DeviceCall& call, std::span<std::byte> y, Stream stream,
                   const std::vector<uintptr_t>& others, bool wait) {
  Device& device = cuda::devices();
  DEQUANT_TRY(cuda::OwnEvent event, cuda::OwnEvent::make(device));
  for (const uintptr_t other : others) {
    DEQUANT_CHECK(device.record(event.get(), stream_of(other)));
    DEQUANT_CHECK(device.wait(stream, event.get()));
  }
  const Status status = run_on(call, y, stream);
  // Memory of the other streams may be used again there, also after a failure.
  if (!others.empty()) {
    DEQUANT_CHECK(device.record(event.get(), stream));
    for (const uintptr_t other : others) DEQUANT_CHECK(device.wait(stream_of(other), event.get()));
  }
  if (wait) DEQUANT_CHECK(device.synchronize(stream));
  return status;
}

/// Runs a DeviceCall on a stream of a device, after what is now on the streams `others`; what is
/// put on these later comes after the results. With `wait` the results are there on return.
void run_call(nb::handle capsule, uintptr_t y, size_t y_bytes, int device, uintptr_t stream,
              const std::vector<uintptr_t>& others, bool wait) {
  const auto* call =
      static_cast<const DeviceCall*>(PyCapsule_GetPointer(capsule.ptr(), DeviceCall::kName));
  if (call == nullptr) throw nb::python_error();
  const OnDevice on(device);
  Status status;
  {
    const Unlocked unlocked;
    status = run_between(*call, {reinterpret_cast<std::byte*>(y), y_bytes}, stream_of(stream),
                         others, wait);
  }
  if (!status) raise(status.error());
}

void synchronize(int device, uintptr_t stream) {
  const OnDevice on(device);
  Status status;
  {
    const Unlocked unlocked;
    status = cuda::devices().synchronize(stream_of(stream));
  }
  if (!status) raise(status.error());
}

}  // namespace

void add_run(nb::module_& m) {
  m.def("run", run_call, "call"_a, "y"_a, "y_bytes"_a, "device"_a, "stream"_a, "others"_a,
        "wait"_a);
  m.def("synchronize", synchronize, "device"_a, "stream"_a);
}

}  // namespace dequant::python
