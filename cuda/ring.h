// A ring of pinned buffers, through which bytes of files come to a device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/device.h"
#include "cuda/scratch.h"

namespace dequant::cuda {

/// Pinned memory of the host and as much memory of the device, with a stream of their own. What is
/// put on the stream is done in its order; only `pinned` is written by the host.
struct Slot {
  std::span<std::byte> pinned;
  std::span<std::byte> device;
  Stream stream = nullptr;
  Event copied = nullptr;  ///< after it `pinned` may be written again
  Event done = nullptr;    ///< of join()
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
  /// Gives a slot back. `copied`: copies from its pinned memory were put on its stream.
  Status give(Slot* slot, bool copied);

  /// What is put on the streams of the slots later comes after what is on `stream` now.
  Status fork(Stream stream);
  /// What is put on `stream` later comes after what is on the streams of the slots now.
  Status join(Stream stream);

 private:
  Ring(Device& device, int index, size_t slot_bytes)
      : device_(device), index_(index), slot_bytes_(slot_bytes) {}
  Status add_slot();

  Device& device_;
  const int index_;
  const size_t slot_bytes_;
  OwnEvent forked_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<Slot*> free_;  ///< the one that was given back first is taken first
};

}  // namespace dequant::cuda
