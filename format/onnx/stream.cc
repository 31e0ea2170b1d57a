// Dequantizing a tensor of any size in bounded memory.
#include "format/onnx/stream.h"

#include <algorithm>
#include <exception>

namespace dequant::format::onnx {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
/// Output bytes of a stretch that all threads share: enough for them, little enough to stay near the
/// caches.
constexpr int64_t kLargestShared = 32 * kMiB;
/// Output bytes of a stretch that one thread computes: its own cache holds them until they are written.
constexpr int64_t kOwn = kMiB / 4;
/// The most that a thread holds for a stretch of its own: the output, and codes twice as wide.
constexpr int64_t kOwnMemory = 3 * kOwn;
/// Less than this is not asked for: a stretch and its scales must fit.
constexpr int64_t kLeastMemory = 8 * kMiB;

/// Threads at work on the stretches of one dequantization. The first trouble ends the work of all.
class Team {
 public:
  Team(Stretches& stretches, std::span<Stretch> memory, int64_t element_bytes,
       const PlacedSink& sink)
      : stretches_(stretches), memory_(memory), element_bytes_(element_bytes), sink_(sink) {}

  /// One thread's work, an Executor::Task: as many stretches as it gets.
  static void task(void* self, size_t i) {
    auto& team = *static_cast<Team*>(self);
    try {
      if (auto status = team.work(team.memory_[i]); !status) team.stop(std::move(status), nullptr);
    } catch (...) {  // no memory; a task may not throw
      team.stop({}, std::current_exception());
    }
  }

  /// What happened; throws what a thread threw.
  Status outcome() {
    if (thrown_) std::rethrow_exception(thrown_);
    return std::move(status_);
  }

 private:
  Status work(Stretch& stretch) {
    while (!stopped_.load(std::memory_order_relaxed)) {
      DEQUANT_TRY(const bool more, stretches_.next(stretch));
      if (!more) break;
      DEQUANT_CHECK(stretches_.compute(stretch, sequential_executor()));
      DEQUANT_CHECK(sink_(stretch.elements.begin * element_bytes_, stretch.output));
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
  const int64_t element_bytes_;
  const PlacedSink& sink_;
  std::atomic<bool> stopped_{false};
  Status status_;
  std::exception_ptr thrown_;
};

}  // namespace

Status stream(Model& model, ExternalFiles& files, const Dequantization& d,
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

Status Scatter::run(const Dequantization& d, const PlacedSink& sink) {
  const int64_t memory = std::max(options_.memory, kLeastMemory);
  Stretches stretches(d, kOwn, memory / 4, options_.phases);
  DEQUANT_CHECK(stretches.open(model_, files_));
  const auto threads = static_cast<size_t>(std::min(
      {stretches.side_by_side(), memory / 2 / kOwnMemory, static_cast<int64_t>(kMostThreads)}));
  Team team(stretches, std::span(memory_).first(threads), bits(d.plan.output) / 8, sink);
  if (threads > 1 && options_.executor.parallel_for != nullptr) {
    options_.executor.parallel_for(options_.executor.self, threads, Team::task, &team);
  }
  Team::task(&team, 0);  // whatever the others left
  for (Stretch& s : memory_)
    s.scale = s.zero_point = {};  // their room may be needed to hold the next
  DEQUANT_CHECK(team.outcome());
  return stretches.finish();
}

}  // namespace dequant::format::onnx
