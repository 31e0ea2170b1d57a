// The devices of CUDA's runtime.
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <string>

#include "cuda/device/device.h"
#include "dequant/cuda.h"

namespace dequant::cuda {
namespace {

ErrorCode code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation: return ErrorCode::out_of_memory;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevice: return ErrorCode::invalid_argument;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorStubLibrary:
    case cudaErrorNotSupported: return ErrorCode::unsupported;
    default: return ErrorCode::io;
  }
}

/// The runtime also keeps the error for the next caller of cudaGetLastError(), who did not make it.
void ignore(cudaError_t error) noexcept {
  if (error != cudaSuccess) (void)cudaGetLastError();
}

Status check(const char* what, cudaError_t error) {
  if (error == cudaSuccess) return {};
  ignore(error);
  std::string text = std::string("CUDA: ") + what + ": " + cudaGetErrorString(error);
  if (error == cudaErrorInsufficientDriver || error == cudaErrorStubLibrary)
    text += "; NVIDIA's driver (libcuda.so.1) is missing or too old";
  return Error{code_of(error), std::move(text)};
}

cudaEvent_t event_of(Event event) { return static_cast<cudaEvent_t>(event); }

class Cuda final : public Device {
 public:
  Result<int> count() override {
    int number = 0;
    DEQUANT_CHECK(check("the number of devices", cudaGetDeviceCount(&number)));
    return number;
  }

  Result<int> current() override {
    int device = 0;
    DEQUANT_CHECK(check("the current device", cudaGetDevice(&device)));
    return device;
  }

  /// Choosing a device makes its context, which takes some hundred MB of its memory. torch may have
  /// left a device current to avoid that for another one.
  Status use(int device) override {
    DEQUANT_TRY(const int before, current());
    return before == device ? Status() : check("choosing a device", cudaSetDevice(device));
  }

  Result<int> of(const void* memory) override {
    cudaPointerAttributes facts{};
    DEQUANT_CHECK(check("the device of an address", cudaPointerGetAttributes(&facts, memory)));
    if (facts.type == cudaMemoryTypeDevice || facts.type == cudaMemoryTypeManaged)
      return facts.device;
    return Error{ErrorCode::invalid_argument, "an address that is of no device's memory"};
  }

  Result<std::byte*> allocate(size_t bytes, Stream stream) override {
    DEQUANT_TRY(const cudaMemPool_t pool, pool_of_device());
    void* memory = nullptr;
    DEQUANT_CHECK(
        check("allocating memory", cudaMallocFromPoolAsync(&memory, bytes, pool, stream)));
    return static_cast<std::byte*>(memory);
  }

  void free(std::byte* memory, Stream stream) noexcept override {
    ignore(cudaFreeAsync(memory, stream));
  }

  Result<std::byte*> allocate(size_t bytes) override {
    void* memory = nullptr;
    DEQUANT_CHECK(check("allocating memory", cudaMalloc(&memory, bytes)));
    return static_cast<std::byte*>(memory);
  }

  void free(std::byte* memory) noexcept override { ignore(cudaFree(memory)); }

  Result<std::byte*> allocate_pinned(size_t bytes) override {
    void* memory = nullptr;
    DEQUANT_CHECK(
        check("allocating pinned memory", cudaHostAlloc(&memory, bytes, cudaHostAllocPortable)));
    return static_cast<std::byte*>(memory);
  }

  void free_pinned(std::byte* memory) noexcept override { ignore(cudaFreeHost(memory)); }

  Status copy_in(std::byte* device, std::span<const std::byte> host, Stream stream) override {
    if (host.empty()) return {};
    return check("copying to the device",
                 cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice, stream));
  }

  Status copy_out(std::span<std::byte> host, const std::byte* device, Stream stream) override {
    if (host.empty()) return {};
    DEQUANT_CHECK(
        check("copying from the device",
              cudaMemcpyAsync(host.data(), device, host.size(), cudaMemcpyDeviceToHost, stream)));
    return synchronize(stream);
  }

  Status clear(std::byte* device, size_t bytes, Stream stream) override {
    return check("clearing memory", cudaMemsetAsync(device, 0, bytes, stream));
  }

  Result<Stream> create_stream() override {
    cudaStream_t stream = nullptr;
    DEQUANT_CHECK(
        check("making a stream", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)));
    return stream;
  }

  void destroy(Stream stream) noexcept override { ignore(cudaStreamDestroy(stream)); }

  Result<bool> is_captured(Stream stream) override {
    auto status = cudaStreamCaptureStatusNone;
    DEQUANT_CHECK(check("a stream", cudaStreamIsCapturing(stream, &status)));
    return status != cudaStreamCaptureStatusNone;
  }

  Result<Event> create_event() override {
    cudaEvent_t event = nullptr;
    DEQUANT_CHECK(
        check("making an event", cudaEventCreateWithFlags(&event, cudaEventDisableTiming)));
    return Event{event};
  }

  void destroy(Event event) noexcept override { ignore(cudaEventDestroy(event_of(event))); }

  Status record(Event event, Stream stream) override {
    return check("recording an event", cudaEventRecord(event_of(event), stream));
  }

  Status wait(Stream stream, Event event) override {
    return check("waiting for an event", cudaStreamWaitEvent(stream, event_of(event), 0));
  }

  Status synchronize(Event event) override {
    return check("waiting for the device", cudaEventSynchronize(event_of(event)));
  }

  Status synchronize(Stream stream) override {
    return check("waiting for the device", cudaStreamSynchronize(stream));
  }

  Status run(const Plan& plan, std::optional<Range> elements, const Buffers& buffers, Stream stream,
             uint32_t* faults) override {
    const RunOptions options{stream, faults};
    return elements ? cuda::run_range(plan, *elements, buffers, options)
                    : cuda::run(plan, buffers, options);
  }

 private:
  /// Free memory that a pool keeps.
  static constexpr uint64_t kKept = uint64_t{1} << 26;

  /// The pool of the calling thread's device, from its first use until the process ends. The
  /// default pool of CUDA keeps nothing that is free when somebody waits for the device, and takes
  /// 0.15 ms to get it again, once for each parameter of a tensor.
  Result<cudaMemPool_t> pool_of_device() {
    DEQUANT_TRY(const int device, current());
    const std::lock_guard lock(mutex_);
    cudaMemPool_t& pool = pools_[device];
    if (pool != nullptr) return pool;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t made = nullptr;
    uint64_t kept = kKept;
    DEQUANT_CHECK(check("making a pool of memory", cudaMemPoolCreate(&made, &properties)));
    const cudaError_t set = cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept);
    if (set != cudaSuccess) (void)cudaMemPoolDestroy(made);
    DEQUANT_CHECK(check("keeping memory in a pool", set));
    return pool = made;
  }

  std::mutex mutex_;
  std::map<int, cudaMemPool_t> pools_;
};

}  // namespace

Device& devices() {
  static auto* const cuda = new Cuda;  // threads may load until the process ends
  return *cuda;
}

}  // namespace dequant::cuda
