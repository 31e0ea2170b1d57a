// A ring of pinned buffers, through which bytes of files come to a device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "cuda/device/device.h"
#include "cuda/device/scratch.h"

namespace dequant::cuda {

/// Pinned memory of the host and as much memory of the device, with a stream of their own. What is
/// put on the stream is done in its order; only `pinned` is written by the host.
struct Slot {
  std::span<std::byte> pinned;
  std::span<std::byte> device;
  Stream stream = nullptr;
  Event used = nullptr;  ///< after all that was on the stream when the slot was given back
};

/// Slots of equal size on one device. Threads take a slot, fill its pinned memory, put copies and
/// kernels on its stream, and give it back at once: who takes it next waits for the copies. Any
/// number of threads may use a ring at once. Its memory is all that loading pins.
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

  /// A slot whose pinned memory may be written. Waits for one.
  Result<Slot*> take();
  /// Gives a slot back. `used`: copies and kernels were put on its stream.
  Status give(Slot* slot, bool used);

 private:
  Ring(Device& device, int index, size_t slot_bytes)
      : device_(device), index_(index), slot_bytes_(slot_bytes) {}
  Status add_slot();

  Device& device_;
  const int index_;
  const size_t slot_bytes_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<Slot*> free_;  ///< the one that was given back first is taken first

  friend class Batch;
};

/// The work of one tensor on a ring, in the order of a stream of the caller.
class Batch {
 public:
  /// Fails as Device does.
  static Result<Batch> make(Ring& ring, Stream stream);

  Ring& ring() const { return *ring_; }
  Device& device() const { return ring_->device(); }
  Stream stream() const { return stream_; }

  /// Slots that are taken from now on start after what is on the stream now.
  Status fork() { return device().record(start_.get(), stream_); }
  /// A slot whose stream starts there. Any number of threads may take slots between fork() and
  /// join().
  Result<Slot*> take();
  /// What is put on the stream later comes after what is on the slots that were taken.
  Status join();

 private:
  Batch(Ring& ring, Stream stream) : ring_(&ring), stream_(stream) {}

  Ring* ring_;
  Stream stream_;
  OwnEvent start_;
  std::set<Slot*> taken_;  ///< since the last join(); the mutex of the ring guards it
};

}  // namespace dequant::cuda
