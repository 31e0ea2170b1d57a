// Computing a dense tensor of any size in bounded memory: each chunk is read, dequantized, and
// passed to a sink.
#pragma once

#include <array>
#include <functional>
#include <span>

#include "dequant/executor.h"
#include "format/io/phases.h"
#include "format/model/chunks.h"

namespace dequant::format {

class Overflows;

struct StreamOptions {
  int64_t memory = int64_t{1} << 30;  ///< bytes of buffers at most; never less than about 8 MiB
  Executor executor = default_executor();
  Phases* phases = nullptr;        ///< gets the time of reading and dequantizing
  Overflows* overflows = nullptr;  ///< of conversions: gets the numbers that float16 does not hold
};

/// Bytes of options.memory for the scales of one tensor, and as many for its zero points. For
/// callers that open readers.
int64_t parameter_memory(const StreamOptions& options);

/// Receives the next bytes of the output. Its error ends the computation, which returns the error.
using Sink = std::function<Status(std::span<const std::byte>)>;

/// Computes a dense tensor and passes its packed bytes to the sink, from front to back. This
/// function and the ones below fail with io or malformed where the file does not hold what its
/// structure says, and with limit where scales or zero points need more than parameter_memory().
Status stream(const Plan& plan, RecipeReaders readers, const StreamOptions& options,
              const Sink& sink);

/// Computes a dense tensor into `y`, which has its packed size.
Status fill(const Plan& plan, RecipeReaders readers, const StreamOptions& options,
            std::span<std::byte> y);

/// Receives the bytes of the output from byte `offset` on. Called on any thread, by several at
/// once.
using OffsetSink = std::function<Status(int64_t offset, std::span<const std::byte>)>;

/// Receives a chunk with its codes and its output. Called on any thread, by several at once.
using ChunkSink = std::function<Status(const Chunk&)>;

/// Computes the chunks of dense tensors in any order. Each thread reads and dequantizes a chunk and
/// calls the sink, while the chunk is in the cache of its core.
class Scatter {
 public:
  /// The options must outlive this object.
  explicit Scatter(const StreamOptions& options) : options_(options) {}

  /// Computes a tensor and passes its bytes to the sink.
  Status run(const Plan& plan, RecipeReaders readers, const OffsetSink& sink);
  /// The same for a range of its elements, as of Chunks.
  Status run(const Plan& plan, RecipeReaders readers, Range elements, const OffsetSink& sink);
  /// Computes a tensor and passes its chunks to the sink.
  Status visit(const Plan& plan, RecipeReaders readers, const ChunkSink& sink);

 private:
  Status visit(const Plan& plan, RecipeReaders readers, Range elements, const ChunkSink& sink);

  /// Enough threads for a sink that writes a file: a file accepts one write at a time.
  static constexpr size_t kMostThreads = 4;

  const StreamOptions& options_;
  std::array<Chunk, kMostThreads> memory_;  ///< buffers of each thread, reused for the next tensor
};

}  // namespace dequant::format
