// Dequantizing a tensor of any size in bounded memory.
#include "format/onnx/stream.h"

#include <algorithm>
#include <exception>
#include <new>

namespace dequant::format::onnx {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
/// Output bytes of a stretch that all threads share: enough for them, little enough to stay near the
/// caches.
constexpr int64_t kLargestShared = 32 * kMiB;
/// Output bytes of a stretch that one thread computes: its own cache holds them until they are written.
constexpr int64_t kOwn = kMiB / 4;
/// Output bytes of a stretch that one thread computes where it is to stay.
constexpr int64_t kPlaced = kMiB;
/// More threads than this would wait for each other's reads.
constexpr int64_t kMostReaders = 64;
/// Larger outputs in memory do not stay in a cache, as Stores::automatic has it.
constexpr size_t kStreamed = size_t{16} << 20;
/// The most that a thread holds for a stretch of its own: the output, and codes twice as wide.
constexpr int64_t kOwnMemory = 3 * kOwn;
/// Less than this is not asked for: a stretch and its scales must fit.
constexpr int64_t kLeastMemory = 8 * kMiB;

/// Threads at work on the stretches of one dequantization, each with memory of its own. The first trouble
/// ends the work of all, but a thread that finds no memory for its first stretch leaves the work to others.
class Team {
 public:
  /// What is done with a stretch, on any thread.
  using Work = std::function<Status(Stretch& stretch)>;

  Team(Stretches& stretches, std::span<Stretch> memory, Holds what, Work work)
      : stretches_(stretches), memory_(memory), what_(what), work_(std::move(work)) {}

  Status run(const Executor& executor) {
    stretches_.make_room(memory_[0], what_);  // before there are threads, which take memory too
    if (memory_.size() > 1 && executor.parallel_for != nullptr)
      executor.parallel_for(executor.self, memory_.size(), Team::task, this);
    take_part(memory_[0]);  // whatever the others left
    if (thrown_) std::rethrow_exception(thrown_);
    return std::move(status_);
  }

 private:
  /// One thread's work, an Executor::Task: as many stretches as it gets.
  static void task(void* self, size_t i) {
    auto& team = *static_cast<Team*>(self);
    Stretch& memory = team.memory_[i];
    if (i == 0 || team.has_room(memory)) team.take_part(memory);
  }

  bool has_room(Stretch& memory) noexcept {
    try {
      stretches_.make_room(memory, what_);
      return true;
    } catch (const std::bad_alloc&) {
      memory = {};
      return false;
    }
  }

  void take_part(Stretch& memory) noexcept {
    try {
      if (auto status = work(memory); !status) stop(std::move(status), nullptr);
    } catch (...) {  // no memory; a task may not throw
      stop({}, std::current_exception());
    }
  }

  Status work(Stretch& stretch) {
    while (!stopped_.load(std::memory_order_relaxed)) {
      DEQUANT_TRY(const bool more, stretches_.next(stretch));
      if (!more) break;
      DEQUANT_CHECK(work_(stretch));
    }
    return {};
  }

  void stop(Status status, std::exception_ptr thrown) {
    if (stopped_.exchange(true)) return;
    status_ = std::move(status);
    thrown_ = std::move(thrown);
  }

  Stretches& stretches_;
  const std::span<Stretch> memory_;
  const Holds what_;
  const Work work_;
  std::atomic<bool> stopped_{false};
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace

Status stream(const Model& model, ExternalFiles& files, const Dequantization& d,
              const StreamOptions& options, const Sink& sink) {
  const int64_t memory = std::max(options.memory, kLeastMemory);
  Stretches stretches(d, std::min(memory / 8, kLargestShared), memory / 4, options.phases);
  DEQUANT_CHECK(stretches.open(model, files));
  Stretch stretch;
  for (;;) {
    DEQUANT_TRY(const bool more, stretches.next(stretch));
    if (!more) return stretches.finish();
    DEQUANT_CHECK(stretches.compute(stretch, options.executor));
    DEQUANT_CHECK(sink(stretch.output));
  }
}

Status fill(const Model& model, ExternalFiles& files, const Dequantization& d,
            const StreamOptions& options, std::span<std::byte> y) {
  Stretches stretches(d, kPlaced, std::max(options.memory, kLeastMemory) / 4, options.phases);
  DEQUANT_CHECK(stretches.open(model, files));
  const Stores stores = y.size() > kStreamed ? Stores::streaming : Stores::cached;
  const auto element_bytes = static_cast<size_t>(bits(d.plan.output) / 8);
  std::vector<Stretch> memory(
      static_cast<size_t>(std::min(stretches.side_by_side(), kMostReaders)));
  Team team(stretches, memory, Holds::codes, [&](Stretch& stretch) {
    const auto begin = static_cast<size_t>(stretch.elements.begin) * element_bytes;
    const auto end = static_cast<size_t>(stretch.elements.end) * element_bytes;
    return stretches.compute(stretch, y.subspan(begin, end - begin),
                             {sequential_executor(), stores});
  });
  DEQUANT_CHECK(team.run(options.executor));
  return stretches.finish();
}

Status Scatter::run(const Dequantization& d, const PlacedSink& sink) {
  const int64_t element_bytes = bits(d.plan.output) / 8;
  return visit(d, [&](const Stretch& stretch) {
    return sink(stretch.elements.begin * element_bytes, stretch.output);
  });
}

Status Scatter::visit(const Dequantization& d, const StretchSink& sink) {
  const int64_t memory = std::max(options_.memory, kLeastMemory);
  Stretches stretches(d, kOwn, memory / 4, options_.phases);
  DEQUANT_CHECK(stretches.open(model_, files_));
  const auto threads = static_cast<size_t>(std::min(
      {stretches.side_by_side(), memory / 2 / kOwnMemory, static_cast<int64_t>(kMostThreads)}));
  Team team(stretches, std::span(memory_).first(threads), Holds::codes_and_output,
            [&](Stretch& stretch) -> Status {
              DEQUANT_CHECK(stretches.compute(stretch, sequential_executor()));
              return sink(stretch);
            });
  auto status = team.run(options_.executor);
  for (Stretch& s : memory_)
    s.scale = s.zero_point = {};  // their room may be needed to hold the next
  DEQUANT_CHECK(std::move(status));
  return stretches.finish();
}

}  // namespace dequant::format::onnx
