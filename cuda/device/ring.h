// A ring of pinned buffers, through which bytes of files come to a device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cuda/device/device.h"
#include "cuda/device/scratch.h"

namespace dequant::cuda {

/// Pinned memory of the host and as much memory of the device, with one of the ring's streams. What
/// is put on the stream is done in its order; only `pinned` is written by the host.
struct Slot {
  std::span<std::byte> pinned;
  std::span<std::byte> device;
  Stream stream = nullptr;
  Event used = nullptr;  ///< after all that was on the stream when the slot was given back
};

/// Slots of equal size on one device, and a few streams. Threads take a slot, fill its pinned
/// memory, put copies and kernels on its stream, and give it back at once: who takes it next waits
/// for the copies. Any number of threads may use a ring at once. Its memory is all that loading
/// pins.
class Ring {
 public:
  /// Slots of the calling thread's device. Fails as Device does.
  static Result<std::unique_ptr<Ring>> make(Device& device, size_t slots, size_t slot_bytes);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  Device& device() const { return device_; }
  /// The calling thread's device becomes that of the ring.
  Status use() const { return device_.use(index_); }
  size_t slots() const { return slots_.size(); }
  size_t slot_bytes() const { return slot_bytes_; }
  std::span<const Stream> streams() const { return streams_; }

  /// A slot whose pinned memory may be written. Waits for one.
  Result<Slot*> take();
  /// Gives a slot back. `used`: copies and kernels were put on its stream.
  Status give(Slot* slot, bool used);

  /// An event that was used before, or a new one. Making one takes 0.04 ms and more while threads
  /// put work on streams.
  Result<OwnEvent> take_event();
  void give_event(OwnEvent event) noexcept;

 private:
  Ring(Device& device, int index, size_t slot_bytes)
      : device_(device), index_(index), slot_bytes_(slot_bytes) {}
  Status add_stream();
  Status add_slot();

  Device& device_;
  const int index_;
  const size_t slot_bytes_;
  std::vector<Stream> streams_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable given_;
  /// The one that was given back first is taken first. Has room for all slots: giving one back
  /// allocates nothing.
  std::vector<Slot*> free_;
  std::vector<OwnEvent> events_;
};

/// The work of one tensor on a ring, in the order of a stream of the caller.
class Batch {
 public:
  /// The calling thread's device is that of the ring. Fails as Device does, and with unsupported
  /// where a graph captures the stream.
  static Result<Batch> make(Ring& ring, Stream stream);
  Batch(Batch&& other) noexcept = default;
  Batch& operator=(Batch&&) = delete;
  ~Batch() {
    if (event_.get() != nullptr) ring_->give_event(std::move(event_));
  }

  Ring& ring() const { return *ring_; }
  Device& device() const { return ring_->device(); }
  Stream stream() const { return stream_; }

  /// What is put on the streams of slots later starts after what is on the stream now.
  Status fork();
  /// What is put on the stream later comes after what is on the streams of slots now, that of other
  /// batches too. Where that fails, what is on the streams of slots is done.
  Status join();

 private:
  Batch(Ring& ring, Stream stream, OwnEvent event)
      : ring_(&ring), stream_(stream), event_(std::move(event)) {}

  Ring* ring_;
  Stream stream_;
  OwnEvent event_;
};

}  // namespace dequant::cuda
