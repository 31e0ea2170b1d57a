// A ring of pinned buffers, through which bytes of files come to a device.
#include "cuda/device/ring.h"

#include <utility>

namespace dequant::cuda {

Result<std::unique_ptr<Ring>> Ring::make(Device& device, size_t slots, size_t slot_bytes) {
  DEQUANT_TRY(const int index, device.current());
  std::unique_ptr<Ring> ring(new Ring(device, index, slot_bytes));
  for (size_t i = 0; i < slots; ++i) DEQUANT_CHECK(ring->add_slot());
  return ring;
}

/// Parts of a slot that cannot be made leave it to the destructor.
Status Ring::add_slot() {
  slots_.push_back(std::make_unique<Slot>());
  Slot& slot = *slots_.back();
  DEQUANT_TRY(std::byte* const pinned, device_.allocate_pinned(slot_bytes_));
  slot.pinned = {pinned, slot_bytes_};
  DEQUANT_TRY(std::byte* const memory, device_.allocate(slot_bytes_));
  slot.device = {memory, slot_bytes_};
  DEQUANT_TRY(slot.stream, device_.create_stream());
  DEQUANT_TRY(slot.used, device_.create_event());
  free_.push_back(&slot);
  return {};
}

Ring::~Ring() {
  const auto before = device_.current();
  if (use()) {
    for (const auto& slot : slots_) {
      if (slot->stream != nullptr) (void)device_.synchronize(slot->stream);
      if (slot->used != nullptr) device_.destroy(slot->used);
      if (slot->stream != nullptr) device_.destroy(slot->stream);
      if (!slot->device.empty()) device_.free(slot->device.data());
      if (!slot->pinned.empty()) device_.free_pinned(slot->pinned.data());
    }
  }
  if (before) (void)device_.use(*before);
}

Result<Slot*> Ring::take() {
  Slot* slot = nullptr;
  {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return !free_.empty(); });
    slot = free_.front();
    free_.pop_front();
  }
  const Status status = device_.synchronize(slot->used);
  if (status) return slot;
  (void)give(slot, false);
  return status.error();
}

Status Ring::give(Slot* slot, bool used) {
  Status status = used ? device_.record(slot->used, slot->stream) : Status();
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }
  given_.notify_one();
  return status;
}

Result<Batch> Batch::make(Ring& ring, Stream stream) {
  Batch batch(ring, stream);
  DEQUANT_TRY(batch.start_, OwnEvent::make(ring.device()));
  return batch;
}

Result<Slot*> Batch::take() {
  DEQUANT_TRY(Slot* const slot, ring_->take());
  const Status status = device().wait(slot->stream, start_.get());
  if (!status) {
    (void)ring_->give(slot, false);
    return status.error();
  }
  const std::lock_guard lock(ring_->mutex_);
  taken_.insert(slot);
  return slot;
}

/// Another batch may have used a slot since, and recorded its event: then more is waited for.
Status Batch::join() {
  std::set<Slot*> taken;
  {
    const std::lock_guard lock(ring_->mutex_);
    taken.swap(taken_);
  }
  Status first;
  for (Slot* const slot : taken) {
    Status status = device().wait(stream_, slot->used);
    if (!status && first) first = std::move(status);
  }
  return first;
}

}  // namespace dequant::cuda
