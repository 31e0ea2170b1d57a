// Loader: tensors of open model files, and bytes of files, in memory of a device.
#include <memory>
#include <string>

#include "cuda/device/load.h"
#include "dequant/executor.h"
#include "python/core/device_call.h"
#include "python/core/raise.h"
#include "python/core/unlocked.h"
#include "python/cuda/module.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

/// A ring of one device. Any number of threads may use it at once.
class Loader {
 public:
  Loader(int device, size_t slots, size_t slot_bytes) : device_(device) {
    const OnDevice on(device);
    ring_ = checked([&] {
      const Unlocked unlocked;
      return cuda::Ring::make(cuda::devices(), slots, slot_bytes);
    }());
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() {
    const Unlocked unlocked;
    ring_.reset();
  }

  /// Computes the tensor of a DeviceTensor into memory of the device.
  void load(nb::handle capsule, uintptr_t y, size_t bytes, uintptr_t stream, int threads) {
    const auto* given =
        static_cast<const DeviceTensor*>(PyCapsule_GetPointer(capsule.ptr(), DeviceTensor::kName));
    if (given == nullptr) throw nb::python_error();
    run(threads, [&](const Executor& executor) {
      return cuda::load(*ring_, given->extractor->file(), given->tensor, memory(y, bytes),
                        stream_of(stream), executor);
    });
  }

  void load_bytes(const nb::bytes& path, int64_t offset, uintptr_t y, size_t bytes,
                  uintptr_t stream, int threads) {
    const std::string name(path.c_str(), path.size());
    run(threads, [&](const Executor& executor) {
      return cuda::load_bytes(*ring_, name, offset, memory(y, bytes), stream_of(stream), executor);
    });
  }

 private:
  static std::span<std::byte> memory(uintptr_t address, size_t bytes) {
    return {reinterpret_cast<std::byte*>(address), bytes};
  }

  template <class Work>
  void run(int threads, Work work) {
    const OnDevice on(device_);
    ThreadPool pool(threads);
    Status status;
    {
      const Unlocked unlocked;
      status = work(pool.executor());
    }
    if (!status) raise(status.error());
  }

  const int device_;
  std::unique_ptr<cuda::Ring> ring_;
};

}  // namespace

void add_loader(nb::module_& m) {
  nb::class_<Loader>(m, "Loader")
      .def(nb::init<int, size_t, size_t>(), "device"_a, "slots"_a, "slot_bytes"_a)
      .def("load", &Loader::load, "tensor"_a, "y"_a, "bytes"_a, "stream"_a, "threads"_a)
      .def("load_bytes", &Loader::load_bytes, "path"_a, "offset"_a, "y"_a, "bytes"_a, "stream"_a,
           "threads"_a);
}

}  // namespace dequant::python
