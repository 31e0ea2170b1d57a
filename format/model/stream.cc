// Computing a dense tensor of any size in bounded memory.
#include "format/model/stream.h"

#include <algorithm>
#include <new>

#include "format/io/errors.h"
#include "format/model/code_bands.h"
#include "format/model/first_failure.h"
#include "format/model/float_environment.h"

namespace dequant::format {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
/// Output bytes of a chunk that all threads compute together: enough work for each, and not much
/// more than caches hold.
constexpr int64_t kLargestShared = 32 * kMiB;
/// Output bytes of a chunk that one thread computes: the cache of its core holds them until they
/// are written.
constexpr int64_t kOwn = kMiB / 4;
/// Output bytes of a chunk that one thread computes into memory of the caller.
constexpr int64_t kInMemory = kMiB;
/// Threads that fill memory at most: more would wait for each other's reads.
constexpr int64_t kMostFilling = 64;
/// Output bytes from which on stores bypass the caches, as of Stores::automatic.
constexpr size_t kStreamed = size_t{16} << 20;
/// Memory of a thread for one chunk at most: the output, and codes of twice its width.
constexpr int64_t kOwnMemory = 3 * kOwn;
/// The least memory: a chunk and its scales must fit.
constexpr int64_t kLeastMemory = 8 * kMiB;

/// Computes the chunks of one tensor on several threads, each with buffers of its own. All threads
/// end at the first error or exception. A thread that cannot allocate its buffers computes nothing;
/// the other threads compute its chunks.
class Team {
 public:
  /// Called for each chunk, on any thread.
  using Work = std::function<Status(Chunk& chunk)>;

  Team(Chunks& chunks, std::span<Chunk> memory, Holds what, Work work)
      : chunks_(chunks), memory_(memory), what_(what), work_(std::move(work)) {}

  Status run(const Executor& executor) {
    chunks_.make_room(memory_[0], what_);  // before threads start, which need memory too
    if (memory_.size() > 1 && executor.parallel_for != nullptr)
      executor.parallel_for(executor.self, memory_.size(), Team::task, this);
    take_part(memory_[0]);  // chunks that the other threads did not compute
    return failure_.take();
  }

 private:
  /// An Executor::Task: computes chunks until none is left. Readers compute too, as second
  /// quantizations, and the threads of a caller have any floating-point environment.
  static void task(void* self, size_t i) {
    const FloatEnvironment environment;
    auto& team = *static_cast<Team*>(self);
    Chunk& memory = team.memory_[i];
    if (i == 0 || team.has_room(memory)) team.take_part(memory);
  }

  bool has_room(Chunk& memory) noexcept {
    try {
      chunks_.make_room(memory, what_);
      return true;
    } catch (const std::bad_alloc&) {
      memory = {};
      return false;
    }
  }

  void take_part(Chunk& memory) noexcept {
    failure_.watch([&] { return work(memory); });
  }

  Status work(Chunk& chunk) {
    while (!failure_.happened()) {
      DEQUANT_TRY(const bool more, chunks_.next(chunk));
      if (!more) break;
      DEQUANT_CHECK(work_(chunk));
    }
    return {};
  }

  Chunks& chunks_;
  const std::span<Chunk> memory_;
  const Holds what_;
  const Work work_;
  FirstFailure failure_;
};

Range all_of(const Plan& plan) { return {0, element_count(plan)}; }

/// Calls each(plan, readers, elements, first element of the plan) for the elements of the tensor,
/// or for those of its bands where codes would have to be held that do not fit in
/// `parameter_bytes`.
template <class Each>
Status for_each_band(const Plan& plan, RecipeReaders readers, Range elements, int64_t output_bytes,
                     int64_t parameter_bytes, Each each) {
  const auto bands = CodeBands::needed(plan, readers, output_bytes, parameter_bytes);
  if (!bands) return each(plan, std::move(readers), elements, int64_t{0});
  int64_t done = 0;
  DEQUANT_CHECK(bands->for_each([&](const CodeBand& band) -> Status {
    const int64_t first = band.elements.begin;
    const Range own{std::max(elements.begin, first) - first,
                    std::min(elements.end, band.elements.end) - first};
    if (own.begin >= own.end) return {};
    done += own.end - own.begin;
    return each(band.plan, readers_of(band, readers), own, first);
  }));
  if (done != elements.end - elements.begin) {
    return failure(ErrorCode::unsupported, "codes in another order: bands have {} elements of {}",
                   done, elements.end - elements.begin);
  }
  return finish(readers);
}

}  // namespace

int64_t parameter_memory(const StreamOptions& options) {
  return std::max(options.memory, kLeastMemory) / 4;
}

Status stream(const Plan& plan, RecipeReaders readers, const StreamOptions& options,
              const Sink& sink) {
  const int64_t output = std::min(std::max(options.memory, kLeastMemory) / 8, kLargestShared);
  const int64_t parameters = parameter_memory(options);
  const auto part = [&](const Plan& own, RecipeReaders of_own, Range elements, int64_t) -> Status {
    Chunks chunks(own, std::move(of_own), elements, output, parameters, options.phases);
    DEQUANT_CHECK(chunks.open(options.executor));
    Chunk chunk;
    for (;;) {
      DEQUANT_TRY(const bool more, chunks.next(chunk));
      if (!more) return chunks.finish();
      DEQUANT_CHECK(chunks.compute(chunk, options.executor));
      DEQUANT_CHECK(sink(chunk.output));
    }
  };
  return for_each_band(plan, std::move(readers), all_of(plan), output, parameters, part);
}

Status fill(const Plan& plan, RecipeReaders readers, const StreamOptions& options,
            std::span<std::byte> y) {
  const int64_t parameters = parameter_memory(options);
  const Stores stores = y.size() > kStreamed ? Stores::streaming : Stores::cached;
  const int64_t element_bytes = bits(plan.output) / 8;
  const auto part = [&](const Plan& own, RecipeReaders of_own, Range elements,
                        int64_t first) -> Status {
    Chunks chunks(own, std::move(of_own), elements, kInMemory, parameters, options.phases);
    DEQUANT_CHECK(chunks.open(options.executor));
    std::vector<Chunk> memory(static_cast<size_t>(std::min(chunks.concurrency(), kMostFilling)));
    Team team(chunks, memory, Holds::codes, [&](Chunk& chunk) {
      const auto begin = static_cast<size_t>((first + chunk.elements.begin) * element_bytes);
      const auto end = static_cast<size_t>((first + chunk.elements.end) * element_bytes);
      return chunks.compute(chunk, y.subspan(begin, end - begin), {sequential_executor(), stores});
    });
    DEQUANT_CHECK(team.run(options.executor));
    return chunks.finish();
  };
  return for_each_band(plan, std::move(readers), all_of(plan), kInMemory, parameters, part);
}

Status Scatter::run(const Plan& plan, RecipeReaders readers, const OffsetSink& sink) {
  return run(plan, std::move(readers), all_of(plan), sink);
}

Status Scatter::run(const Plan& plan, RecipeReaders readers, Range elements,
                    const OffsetSink& sink) {
  const int64_t element_bytes = bits(plan.output) / 8;
  return visit(plan, std::move(readers), elements, [&](const Chunk& chunk) {
    return sink(chunk.elements.begin * element_bytes, chunk.output);
  });
}

Status Scatter::visit(const Plan& plan, RecipeReaders readers, const ChunkSink& sink) {
  return visit(plan, std::move(readers), all_of(plan), sink);
}

Status Scatter::visit(const Plan& plan, RecipeReaders readers, Range elements,
                      const ChunkSink& sink) {
  const int64_t memory = std::max(options_.memory, kLeastMemory);
  const int64_t parameters = parameter_memory(options_);
  const auto part = [&](const Plan& own, RecipeReaders of_own, Range range,
                        int64_t first) -> Status {
    Chunks chunks(own, std::move(of_own), range, kOwn, parameters, options_.phases);
    DEQUANT_CHECK(chunks.open(options_.executor));
    const auto threads = static_cast<size_t>(std::min(
        {chunks.concurrency(), memory / 2 / kOwnMemory, static_cast<int64_t>(kMostThreads)}));
    Team team(chunks, std::span(memory_).first(threads), Holds::codes_and_output,
              [&](Chunk& chunk) -> Status {
                DEQUANT_CHECK(chunks.compute(chunk, sequential_executor()));
                chunk.elements = {first + chunk.elements.begin, first + chunk.elements.end};
                return sink(chunk);
              });
    auto status = team.run(options_.executor);
    for (Chunk& c : memory_) c.parameter_buffers = {};  // memory that the next tensor may need
    DEQUANT_CHECK(std::move(status));
    return chunks.finish();
  };
  return for_each_band(plan, std::move(readers), elements, kOwn, parameters, part);
}

}  // namespace dequant::format
