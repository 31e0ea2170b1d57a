#include "execute/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <thread>

#include "execute/float_environment.h"

namespace dequant {
namespace {

/// The tasks of a call in spans of consecutive tasks, one for each thread that may take part: a
/// repeated call finds the same elements of x and y in the same core's cache. A thread that has
/// finished a span goes on with the next span.
class TaskSpans {
 public:
  TaskSpans(Executor::Task task, void* context, std::size_t count, std::size_t threads) noexcept
      : task_(task), context_(context), spans_(std::min({count, threads, kMost})) {
    for (std::size_t k = 0; k < spans_; ++k) {
      span_[k].next.store(edge(count, k), std::memory_order_relaxed);
      span_[k].end = edge(count, k + 1);
    }
  }

  /// Runs tasks until none are left, those of span `first` first.
  void take(std::size_t first) noexcept {
    for (std::size_t k = 0; k < spans_; ++k) {
      TaskSpan& span = span_[(first + k) % spans_];
      for (std::size_t i = span.next++; i < span.end; i = span.next++) task_(context_, i);
    }
  }

 private:
  static constexpr std::size_t kMost = 64;

  /// On a cache line of its own, as threads increment `next`.
  struct alignas(64) TaskSpan {
    std::atomic<std::size_t> next;
    std::size_t end;
  };

  std::size_t edge(std::size_t count, std::size_t k) const noexcept {
    return count / spans_ * k + std::min(count % spans_, k);
  }

  Executor::Task task_;
  void* context_;
  std::size_t spans_;
  std::array<TaskSpan, kMost> span_;
};

/// The stack of a thread: several times that of a chunk. Larger stacks fail where address space is
/// limited.
constexpr std::size_t kStackBytes = std::size_t{1} << 20;
/// After a failed pthread_create() none is tried for this time: a failure takes as long as
/// dequantizing a tensor.
constexpr std::chrono::seconds kPatience{1};
/// How often a thread polls before it sleeps, so that calls in quick succession do not wait for a
/// thread to wake up.
constexpr int kLooks = 100;

/// Returns when the number differs from `seen`.
void wait_for_change(const std::atomic<uint32_t>& number, uint32_t seen) noexcept {
  for (int i = 0; i < kLooks; ++i) {
    if (number.load(std::memory_order_relaxed) != seen) return;
    std::this_thread::yield();
  }
  number.wait(seen, std::memory_order_relaxed);
}

}  // namespace

struct Pool::Call {
  TaskSpans spans;
  // Guarded by the pool's lock:
  std::size_t places;       ///< how many more threads may help
  std::size_t helpers = 0;  ///< threads of the pool that run tasks of this call
  bool waited_for = false;  ///< the calling thread has no tasks left and waits for the helpers
  Call* next = nullptr;
};

void Pool::run(std::size_t count, Executor::Task task, void* context,
               std::size_t threads) noexcept {
  threads = std::min(threads, count);
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  Call call{TaskSpans(task, context, count, threads), threads - 1};
  begin(call);
  call.spans.take(0);
  end(call);
}

/// Offers the places of a call to the threads of the pool.
void Pool::begin(Call& call) noexcept {
  std::size_t wanted = call.places;
  bool all = false;
  {
    const std::lock_guard lock(lock_);
    if (workers_ < wanted) grow(wanted);
    all = workers_ <= wanted;
    call.next = calls_;
    calls_ = &call;
    begun_.fetch_add(1, std::memory_order_relaxed);
  }
  if (all) return begun_.notify_all();
  while (wanted-- > 0) begun_.notify_one();
}

/// Returns when no thread of the pool runs a task of the call: all tasks are done then.
void Pool::end(Call& call) noexcept {
  std::unique_lock lock(lock_);
  Call** at = &calls_;
  while (*at != &call) at = &(*at)->next;
  *at = call.next;
  call.waited_for = true;
  while (call.helpers > 0) {
    const uint32_t seen = ended_.load(std::memory_order_relaxed);
    lock.unlock();
    wait_for_change(ended_, seen);
    lock.lock();
  }
}

/// Creates threads until the pool has `workers`, or until the system refuses one.
void Pool::grow(std::size_t workers) noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_try_) return;
  pthread_attr_t detached;
  if (pthread_attr_init(&detached) != 0) return;
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&detached, kStackBytes);
  const auto start = [](void* self) -> void* { static_cast<Pool*>(self)->help(); };
  for (pthread_t thread{}; workers_ < workers; ++workers_) {
    if (pthread_create(&thread, &detached, start, this) != 0) {
      next_try_ = now + kPatience;
      break;
    }
  }
  pthread_attr_destroy(&detached);
}

/// What a thread of the pool runs: helps calls that have places, else waits for the next call.
void Pool::help() noexcept {
  const FloatEnvironment environment;  // a thread begins with that of the one that has started it
  std::unique_lock lock(lock_);
  const std::size_t first = ++helping_;  // the calling thread begins with span 0
  for (;;) {
    Call* call = calls_;
    while (call != nullptr && call->places == 0) call = call->next;
    if (call == nullptr) {
      const uint32_t seen = begun_.load(std::memory_order_relaxed);
      lock.unlock();
      wait_for_change(begun_, seen);
      lock.lock();
      continue;
    }
    --call->places;
    ++call->helpers;
    lock.unlock();
    call->spans.take(first);
    lock.lock();
    if (--call->helpers > 0 || !call->waited_for) continue;
    ended_.fetch_add(1, std::memory_order_relaxed);
    ended_.notify_all();  // under the lock: once it is free the call may be destroyed
  }
}

std::size_t processors() noexcept {
  static std::atomic<std::size_t> known = 0;
  std::size_t count = known.load(std::memory_order_relaxed);
  if (count == 0) {
    cpu_set_t usable;
    const bool told = sched_getaffinity(0, sizeof usable, &usable) == 0;
    count =
        told ? static_cast<std::size_t>(CPU_COUNT(&usable)) : std::thread::hardware_concurrency();
    count = std::max(count, std::size_t{1});
    known.store(count, std::memory_order_relaxed);
  }
  return count;
}

}  // namespace dequant
