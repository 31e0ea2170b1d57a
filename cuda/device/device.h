// What a device does for the library besides running plans: memory, copies, streams and events. An
// interface, so that everything above it is tested in host memory: device_cuda.cc implements it
// with CUDA's runtime, device_host.cc with queues in host memory. A program links one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dequant/plan.h"
#include "dequant/status.h"

struct CUstream_st;

namespace dequant::cuda {

using Stream = CUstream_st*;  ///< a cudaStream_t
using Event = void*;          ///< a cudaEvent_t

/// The devices of the process. All operations are of the calling thread's device, see use(). They
/// fail with unsupported where there is no device or no driver, with out_of_memory, and with io
/// where the device refuses; messages have CUDA's own words.
class Device {
 public:
  virtual ~Device() = default;

  virtual Result<int> count() = 0;
  virtual Result<int> current() = 0;
  /// Makes a device that of the calling thread, unless it is.
  virtual Status use(int device) = 0;
  /// The device whose memory an address is of. Fails with invalid_argument for memory of the host.
  virtual Result<int> of(const void* memory) = 0;

  /// Memory for work on one stream: in the stream's order, without waiting.
  virtual Result<std::byte*> allocate(size_t bytes, Stream stream) = 0;
  virtual void free(std::byte* memory, Stream stream) noexcept = 0;
  /// Memory for any stream and any library. Freeing waits for the device.
  virtual Result<std::byte*> allocate(size_t bytes) = 0;
  virtual void free(std::byte* memory) noexcept = 0;
  /// Memory of the host that the device copies from while the host computes.
  virtual Result<std::byte*> allocate_pinned(size_t bytes) = 0;
  virtual void free_pinned(std::byte* memory) noexcept = 0;

  /// Copies in the order of the stream. Pinned memory must stay as it is until the copy is done;
  /// other memory of the host may change after the call.
  virtual Status copy_in(std::byte* device, std::span<const std::byte> host, Stream stream) = 0;
  /// Copies to the host, and waits until the copy is done.
  virtual Status copy_out(std::span<std::byte> host, const std::byte* device, Stream stream) = 0;
  virtual Status clear(std::byte* device, size_t bytes, Stream stream) = 0;

  virtual Result<Stream> create_stream() = 0;
  virtual void destroy(Stream stream) noexcept = 0;
  /// Whether a CUDA graph captures the stream of a caller.
  virtual Result<bool> is_captured(Stream stream) = 0;
  virtual Result<Event> create_event() = 0;
  virtual void destroy(Event event) noexcept = 0;
  virtual Status record(Event event, Stream stream) = 0;
  /// Work that is put on the stream later starts after the event.
  virtual Status wait(Stream stream, Event event) = 0;
  /// The calling thread waits. An event that was never recorded is done.
  virtual Status synchronize(Event event) = 0;
  virtual Status synchronize(Stream stream) = 0;

  /// cuda::run_range() of these elements, or cuda::run().
  virtual Status run(const Plan& plan, std::optional<Range> elements, const Buffers& buffers,
                     Stream stream, uint32_t* faults) = 0;
};

/// The implementation that is linked.
Device& devices();

}  // namespace dequant::cuda
