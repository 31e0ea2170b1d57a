// Two devices in host memory, for tests. An operation on a stream is done when somebody waits for
// it, and not before: so memory that is used again too early, or an order that nothing enforces,
// gives wrong results here.
#include "cuda/device/device_host.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda/device/device.h"
#include "dequant/cuda.h"

namespace dequant::cuda {
namespace {

constexpr int kDevices = 2;
thread_local int current_device = 0;

struct Queue {
  std::deque<std::function<void()>> operations;
  uint64_t added = 0;
  uint64_t done = 0;
};

struct Marker {
  Stream stream = nullptr;
  uint64_t after = 0;  ///< operations of the stream before the marker
};

class Host final : public Device {
 public:
  Result<int> count() override { return kDevices; }
  Result<int> current() override { return current_device; }

  Status use(int device) override {
    if (device < 0 || device >= kDevices)
      return Error{ErrorCode::invalid_argument, "choosing a device: there are two"};
    current_device = device;
    return {};
  }

  Result<int> of(const void* memory) override {
    if (memory == nullptr) return Error{ErrorCode::invalid_argument, "a null address"};
    return 0;
  }

  Result<std::byte*> allocate(size_t bytes, Stream) override { return allocate(bytes); }
  void free(std::byte* memory, Stream stream) noexcept override {
    add(stream, [this, memory] { release(memory, device_, counts_.device_bytes); });
  }

  Result<std::byte*> allocate(size_t bytes) override {
    const std::lock_guard lock(mutex_);
    return get(bytes, device_, counts_.device_bytes);
  }
  void free(std::byte* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    settle();
    release(memory, device_, counts_.device_bytes);
  }

  Result<std::byte*> allocate_pinned(size_t bytes) override {
    const std::lock_guard lock(mutex_);
    DEQUANT_TRY(std::byte* const memory, get(bytes, pinned_, counts_.pinned_bytes));
    counts_.most_pinned_bytes = std::max(counts_.most_pinned_bytes, counts_.pinned_bytes);
    return memory;
  }
  void free_pinned(std::byte* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    release(memory, pinned_, counts_.pinned_bytes);
  }

  Status copy_in(std::byte* device, std::span<const std::byte> host, Stream stream) override {
    const std::lock_guard lock(mutex_);
    DEQUANT_CHECK(usable());
    if (is_pinned(host.data())) {
      add(stream, [device, host] { std::copy(host.begin(), host.end(), device); });
    } else {
      add(stream, [device, bytes = std::vector<std::byte>(host.begin(), host.end())] {
        std::copy(bytes.begin(), bytes.end(), device);
      });
    }
    return {};
  }

  Status copy_out(std::span<std::byte> host, const std::byte* device, Stream stream) override {
    const std::lock_guard lock(mutex_);
    DEQUANT_CHECK(usable());
    drain(stream, UINT64_MAX);
    std::copy_n(device, host.size(), host.begin());
    return {};
  }

  Status clear(std::byte* device, size_t bytes, Stream stream) override {
    add(stream, [device, bytes] { std::memset(device, 0, bytes); });
    return {};
  }

  Result<Stream> create_stream() override {
    const std::lock_guard lock(mutex_);
    DEQUANT_CHECK(usable());
    ++counts_.streams;
    // No number that a caller has: DLPack's are small, torch's are addresses.
    return reinterpret_cast<Stream>(next_stream_ += 16);
  }
  void destroy(Stream stream) noexcept override {
    const std::lock_guard lock(mutex_);
    drain(stream, UINT64_MAX);
    queues_.erase(stream);
    --counts_.streams;
  }

  Result<bool> is_captured(Stream stream) override {
    const std::lock_guard lock(mutex_);
    return captured_.contains(stream);
  }

  Result<Event> create_event() override {
    const std::lock_guard lock(mutex_);
    DEQUANT_CHECK(usable());
    ++counts_.events;
    return Event{new Marker};
  }
  void destroy(Event event) noexcept override {
    const std::lock_guard lock(mutex_);
    delete static_cast<Marker*>(event);
    --counts_.events;
  }
  Status record(Event event, Stream stream) override {
    const std::lock_guard lock(mutex_);
    *static_cast<Marker*>(event) = {stream, queues_[stream].added};
    return {};
  }
  Status wait(Stream stream, Event event) override {
    add(stream,
        [this, marker = *static_cast<Marker*>(event)] { drain(marker.stream, marker.after); });
    return {};
  }
  Status synchronize(Event event) override {
    const std::lock_guard lock(mutex_);
    const Marker marker = *static_cast<Marker*>(event);
    drain(marker.stream, marker.after);
    return std::exchange(failed_, {});
  }
  Status synchronize(Stream stream) override {
    const std::lock_guard lock(mutex_);
    drain(stream, UINT64_MAX);
    return std::exchange(failed_, {});
  }

  /// A range is done later, as a kernel is. Of a whole plan the caller wants to know what is wrong
  /// with the buffers: it is done now, after what is before it on the stream.
  Status run(const Plan& plan, std::optional<Range> elements, const Buffers& buffers, Stream stream,
             uint32_t* faults) override {
    const std::lock_guard lock(mutex_);
    DEQUANT_CHECK(usable());
    const RunOptions options{stream, faults};
    if (!elements) {
      drain(stream, UINT64_MAX);
      return cuda::run(plan, buffers, options);
    }
    add(stream, [this, plan, range = *elements, buffers, options] {
      if (auto status = cuda::run_range(plan, range, buffers, options); !status)
        failed_ = std::move(status);
    });
    return {};
  }

  HostCounts counts() {
    const std::lock_guard lock(mutex_);
    HostCounts counts = counts_;
    for (const auto& [stream, queue] : queues_)
      counts.waiting += static_cast<int64_t>(queue.operations.size());
    return counts;
  }
  void settle() {
    const std::lock_guard lock(mutex_);
    // Streams of rings are newer than streams of callers, and callers' streams wait for them. In
    // this order a kernel that does not wait for its parameters runs before they are copied.
    std::vector<Stream> all;
    for (const auto& [stream, queue] : queues_) all.push_back(stream);
    std::reverse(all.begin(), all.end());
    for (const Stream stream : all) drain(stream, UINT64_MAX);
  }
  void capture(Stream stream, bool captured) {
    const std::lock_guard lock(mutex_);
    if (captured) {
      captured_.insert(stream);
    } else {
      captured_.erase(stream);
    }
  }
  void fail_after(int64_t calls) {
    const std::lock_guard lock(mutex_);
    until_failure_ = calls;
  }

 private:
  using Memory = std::map<const std::byte*, std::unique_ptr<std::vector<std::byte>>>;

  Status usable() {
    if (until_failure_ == 0) return {};
    if (until_failure_ > 1) return --until_failure_, Status();
    return Error{ErrorCode::out_of_memory, "CUDA: a failure of the test"};
  }

  Result<std::byte*> get(size_t bytes, Memory& memory, int64_t& count) {
    DEQUANT_CHECK(usable());
    // What nobody has written yet is no zero.
    auto made = std::make_unique<std::vector<std::byte>>(std::max<size_t>(bytes, 1), std::byte{7});
    std::byte* const begin = made->data();
    count += static_cast<int64_t>(made->size());
    memory[begin] = std::move(made);
    return begin;
  }
  static void release(const std::byte* begin, Memory& memory, int64_t& count) {
    const auto found = memory.find(begin);
    if (found == memory.end()) return;
    count -= static_cast<int64_t>(found->second->size());
    memory.erase(found);
  }
  bool is_pinned(const std::byte* address) const {
    const auto after = pinned_.upper_bound(address);
    if (after == pinned_.begin()) return false;
    const auto& bytes = *std::prev(after)->second;
    return address < bytes.data() + bytes.size();
  }

  void add(Stream stream, std::function<void()> operation) {
    const std::lock_guard lock(mutex_);
    Queue& queue = queues_[stream];
    queue.operations.push_back(std::move(operation));
    ++queue.added;
  }

  /// Executes operations of the stream until `until` of them are done, or until the queue is empty.
  /// An operation may wait for another stream, never for its own.
  void drain(Stream stream, uint64_t until) {
    Queue& queue = queues_[stream];
    while (queue.done < until && !queue.operations.empty()) {
      const auto operation = std::move(queue.operations.front());
      queue.operations.pop_front();
      ++queue.done;
      operation();
    }
  }

  std::recursive_mutex mutex_;
  std::map<Stream, Queue> queues_;
  Memory device_;
  Memory pinned_;
  std::set<Stream> captured_;
  HostCounts counts_;
  Status failed_;
  uintptr_t next_stream_ = 0x10000;
  int64_t until_failure_ = 0;
};

Host& host() {
  static auto* const made = new Host;  // streams are used until the process ends
  return *made;
}

}  // namespace

Device& devices() { return host(); }

HostCounts host_counts() { return host().counts(); }
void host_settle() { host().settle(); }
void host_capture(Stream stream, bool captured) { host().capture(stream, captured); }
void host_fail_after(int64_t calls) { host().fail_after(calls); }

}  // namespace dequant::cuda
