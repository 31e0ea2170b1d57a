// Computing a dense tensor of any size in bounded memory: read a chunk, run it, hand it on.
#pragma once

#include <array>
#include <functional>
#include <span>

#include "dequant/executor.h"
#include "format/io/phases.h"
#include "format/model/chunks.h"

namespace dequant::format {

struct StreamOptions {
  int64_t memory = int64_t{1} << 30;  ///< bytes of buffers at most; never less than about 8 MiB
  Executor executor = default_executor();
  Phases* phases = nullptr;  ///< gets the time of reading and dequantizing
};

/// What the scales and as much as the zero points of one tensor may take of the memory. For those
/// who open readers.
int64_t parameter_memory(const StreamOptions& options);

/// Takes the next bytes of the output.
using Sink = std::function<Status(std::span<const std::byte>)>;

/// Computes a dense tensor and hands it to the sink in order, as packed bytes. Like all that
/// follow, fails with io or malformed where the file does not hold what it said, and with limit
/// where scales or zero points do not fit their share of the memory.
Status stream(const Plan& plan, RecipeReaders readers, const StreamOptions& options,
              const Sink& sink);

/// Computes a whole dense tensor in memory; `y` holds just that.
Status fill(const Plan& plan, RecipeReaders readers, const StreamOptions& options,
            std::span<std::byte> y);

/// Takes the bytes of the output from `offset` on, on any thread, several at a time.
using OffsetSink = std::function<Status(int64_t offset, std::span<const std::byte>)>;

/// Takes a chunk, its codes and its output, on any thread, several at a time.
using ChunkSink = std::function<Status(const Chunk&)>;

/// Computes dense tensors in no order: each thread reads, dequantizes and hands on chunks of its
/// own, small enough to be still in its cache when the sink gets them.
class Scatter {
 public:
  /// The options must outlive it.
  explicit Scatter(const StreamOptions& options) : options_(options) {}

  Status run(const Plan& plan, RecipeReaders readers, const OffsetSink& sink);
  Status visit(const Plan& plan, RecipeReaders readers, const ChunkSink& sink);

 private:
  /// A file takes one write at a time; a few threads keep it supplied.
  static constexpr size_t kMostThreads = 4;

  const StreamOptions& options_;
  std::array<Chunk, kMostThreads> memory_;  ///< of each thread, kept from one tensor to the next
};

}  // namespace dequant::format
