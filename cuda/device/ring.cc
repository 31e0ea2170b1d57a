// A ring of pinned buffers, through which bytes of files come to a device.
#include "cuda/device/ring.h"

#include <algorithm>
#include <new>
#include <utility>

namespace dequant::cuda {
namespace {

/// The row `ring` of bench/cuda/loading.py reached 51 GB/s on an H200 with three or four streams,
/// 48 with eight, and 46 with two and with one for each of 32 slots.
constexpr size_t kStreams = 4;

}  // namespace

Result<std::unique_ptr<Ring>> Ring::make(Device& device, size_t slots, size_t slot_bytes) {
  DEQUANT_TRY(const int index, device.current());
  std::unique_ptr<Ring> ring(new Ring(device, index, slot_bytes));
  for (size_t i = 0; i < std::min(slots, kStreams); ++i) DEQUANT_CHECK(ring->add_stream());
  ring->free_.reserve(slots);
  for (size_t i = 0; i < slots; ++i) DEQUANT_CHECK(ring->add_slot());
  DEQUANT_TRY(OwnEvent event, OwnEvent::make(device));
  ring->give_event(std::move(event));
  return ring;
}

Status Ring::add_stream() {
  DEQUANT_TRY(Stream const stream, device_.create_stream());
  streams_.push_back(stream);
  return {};
}

/// Parts of a slot that cannot be made leave it to the destructor.
Status Ring::add_slot() {
  slots_.push_back(std::make_unique<Slot>());
  Slot& slot = *slots_.back();
  DEQUANT_TRY(std::byte* const pinned, device_.allocate_pinned(slot_bytes_));
  slot.pinned = {pinned, slot_bytes_};
  DEQUANT_TRY(std::byte* const memory, device_.allocate(slot_bytes_));
  slot.device = {memory, slot_bytes_};
  slot.stream = streams_[(slots_.size() - 1) % streams_.size()];
  DEQUANT_TRY(slot.used, device_.create_event());
  free_.push_back(&slot);
  return {};
}

Ring::~Ring() {
  const auto before = device_.current();
  if (use()) {
    for (Stream const stream : streams_) {
      (void)device_.synchronize(stream);
      device_.destroy(stream);
    }
    for (const auto& slot : slots_) {
      if (slot->used != nullptr) device_.destroy(slot->used);
      if (!slot->device.empty()) device_.free(slot->device.data());
      if (!slot->pinned.empty()) device_.free_pinned(slot->pinned.data());
    }
    events_.clear();
  }
  if (before) (void)device_.use(*before);
}

Result<Slot*> Ring::take() {
  Slot* slot = nullptr;
  {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return !free_.empty(); });
    slot = free_.front();
    free_.erase(free_.begin());
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

Result<OwnEvent> Ring::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      OwnEvent event = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  return OwnEvent::make(device_);
}

void Ring::give_event(OwnEvent event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    events_.push_back(std::move(event));
  } catch (const std::bad_alloc&) {  // without memory to keep the event, it is destroyed
  }
}

/// A graph repeats copies when it is launched, and the buffers have other bytes by then.
Result<Batch> Batch::make(Ring& ring, Stream stream) {
  DEQUANT_TRY(const bool captured, ring.device().is_captured(stream));
  if (captured) {
    return Error{
        ErrorCode::unsupported,
        "stream: a CUDA graph captures it, and a graph cannot repeat the reading of a file"};
  }
  DEQUANT_TRY(OwnEvent event, ring.take_event());
  return Batch(ring, stream, std::move(event));
}

Status Batch::fork() {
  DEQUANT_CHECK(device().record(event_.get(), stream_));
  for (Stream const stream : ring_->streams()) DEQUANT_CHECK(device().wait(stream, event_.get()));
  return {};
}

/// A wait is for what the event was recorded after last, so that one event serves all streams.
Status Batch::join() {
  Status first;
  for (Stream const stream : ring_->streams()) {
    Status status = device().record(event_.get(), stream);
    if (status) status = device().wait(stream_, event_.get());
    if (status) continue;
    (void)device().synchronize(stream);
    if (first) first = std::move(status);
  }
  return first;
}

}  // namespace dequant::cuda
