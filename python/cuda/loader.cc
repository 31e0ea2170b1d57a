// Loader: tensors of open model files, and bytes of open files, in memory of a device.
#include <memory>

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
    const auto* given = held<DeviceTensor>(capsule);
    run(threads, [&](const Executor& executor) {
      return cuda::load(*ring_, given->extractor->file(), given->tensor, memory(y, bytes),
                        stream_of(stream), executor);
    });
  }

  /// Copies the bytes of a DeviceBytes into memory of the device, which has room for just these.
  void load_bytes(nb::handle capsule, uintptr_t y, size_t bytes, uintptr_t stream, int threads) {
    const auto* given = held<DeviceBytes>(capsule);
    if (bytes != static_cast<size_t>(given->size)) throw nb::value_error("y: another size");
    run(threads, [&](const Executor& executor) {
      return cuda::load_bytes(*ring_, *given->file, given->offset, memory(y, bytes),
                              stream_of(stream), executor);
    });
  }

 private:
  /// What a capsule of dequant._core holds. Raises ValueError for any other object.
  template <class T>
  static const T* held(nb::handle capsule) {
    const void* const given = PyCapsule_GetPointer(capsule.ptr(), T::kName);
    if (given == nullptr) throw nb::python_error();
    return static_cast<const T*>(given);
  }

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
      .def("load_bytes", &Loader::load_bytes, "source"_a, "y"_a, "bytes"_a, "stream"_a,
           "threads"_a);
}

}  // namespace dequant::python
