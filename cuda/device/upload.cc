// Moving the bytes of stored tensors through a ring to a device.
#include "cuda/device/upload.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

namespace dequant::cuda {
namespace {

/// Threads that take slots and fill them. All end at the first failure.
class Team {
 public:
  Team(Ring& ring, int64_t count, const std::function<Status(int64_t, Slot&)>& work)
      : ring_(ring), count_(count), work_(work) {}

  Status run(const Executor& executor) {
    const auto threads = static_cast<size_t>(std::min(count_, static_cast<int64_t>(ring_.slots())));
    if (threads > 1 && executor.parallel_for != nullptr)
      executor.parallel_for(executor.self, threads, Team::task, this);
    take_part();  // what the other threads have left
    return std::move(status_);
  }

 private:
  static void task(void* self, size_t) { static_cast<Team*>(self)->take_part(); }

  void take_part() noexcept {
    Status status = ring_.use();
    while (status && !stopped_.load(std::memory_order_relaxed)) {
      const int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= count_) return;
      status = one(i);
    }
    if (status) return;
    const std::lock_guard lock(mutex_);
    if (!stopped_.exchange(true)) status_ = std::move(status);
  }

  Status one(int64_t i) {
    DEQUANT_TRY(Slot* const slot, ring_.take());
    Status status;
    try {
      status = work_(i, *slot);
    } catch (const std::bad_alloc&) {
      status = Error{ErrorCode::out_of_memory, "out of memory"};
    }
    const Status given = ring_.give(slot, true);  // copies may be on the stream after a failure too
    return status ? given : status;
  }

  Ring& ring_;
  const int64_t count_;
  const std::function<Status(int64_t, Slot&)>& work_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  Status status_;
};

}  // namespace

Status for_each_slot(Batch& batch, int64_t count, const Executor& executor,
                     const std::function<Status(int64_t i, Slot& slot)>& work) {
  DEQUANT_TRY(const int before, batch.device().current());
  Status status = Team(batch.ring(), count, work).run(executor);
  DEQUANT_CHECK(batch.device().use(before));
  return status;
}

Status upload(Batch& batch, format::StoredReader& reader, std::span<std::byte> device,
              const Executor& executor) {
  const Element element = reader.element();
  const int64_t count = reader.count();
  // Parts begin at multiples of 8 elements, which begin on bytes.
  const int64_t most = static_cast<int64_t>(batch.ring().slot_bytes()) / bits(element) * 8;
  const int64_t parts = (count + most - 1) / most;
  const auto part = [&](int64_t i, Slot& slot) -> Status {
    const Range elements{i * most, std::min(count, (i + 1) * most)};
    const Range bytes = bytes_of(element, elements);
    const auto size = static_cast<size_t>(bytes.end - bytes.begin);
    const auto pinned = slot.pinned.first(size);
    DEQUANT_CHECK(reader.seekable() ? reader.read_at(elements, pinned)
                                    : reader.read(elements.end - elements.begin, pinned));
    std::byte* const to = device.subspan(static_cast<size_t>(bytes.begin), size).data();
    return batch.device().copy_in(to, pinned, slot.stream);
  };
  return for_each_slot(batch, parts, reader.seekable() ? executor : sequential_executor(), part);
}

}  // namespace dequant::cuda
