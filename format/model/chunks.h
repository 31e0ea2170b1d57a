// A dense tensor cut into chunks that fit in memory, which any number of threads may compute.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dequant/executor.h"
#include "format/io/phases.h"
#include "format/model/parameter_reader.h"
#include "format/model/stored_reader.h"

namespace dequant::format {

/// The stored tensors of one recipe, open for reading.
struct RecipeReaders {
  std::unique_ptr<StoredReader> codes;
  std::unique_ptr<StoredReader> scale;
  std::unique_ptr<StoredReader> zero_point;  ///< null: the recipe has none
};

/// One chunk, and the buffers of the thread that computes it.
struct Chunk {
  Range elements;
  std::vector<std::byte> codes;
  std::vector<std::byte> scale;       ///< of this chunk; empty where all scales are in memory
  std::vector<std::byte> zero_point;  ///< the same for zero points
  std::vector<std::byte> output;
};

/// Which buffers of a chunk are used: results may go to memory of the caller.
enum class Holds { codes, codes_and_output };

/// The chunks of one dense tensor, from front to back. Each thread calls next() for a chunk and
/// then compute(); any number of threads may do so at once. The plan must not be strided.
class Chunks {
 public:
  /// A chunk has at most `output_bytes` of output, `parameter_bytes` of scales and as many of zero
  /// points. `phases`, if not null, gets the time of reading and dequantizing. The plan must
  /// outlive this object.
  Chunks(const Plan& plan, RecipeReaders readers, int64_t output_bytes, int64_t parameter_bytes,
         Phases* phases);

  /// Reads the scales and zero points where all fit in `parameter_bytes`. Must be called first.
  /// Fails with io, malformed or limit.
  Status open();

  /// How many threads can compute chunks at once: about the number of chunks; 1 where scales or
  /// zero points are read chunk by chunk, as the limit then allows one chunk in memory.
  int64_t concurrency() const;

  /// Allocates buffers that are large enough for every chunk. Throws std::bad_alloc.
  void make_room(Chunk& chunk, Holds what) const;

  /// Sets the elements of the next chunk and returns true, or false after the last one. Also reads
  /// the codes where their storage can only be read in order. Fails with io or malformed.
  Result<bool> next(Chunk& chunk);

  /// Reads what the chunk needs, and dequantizes it into chunk.output. Fails with io, malformed or
  /// limit.
  Status compute(Chunk& chunk, const Executor& executor);
  /// The same into `y`, which has the packed size of the chunk.
  Status compute(Chunk& chunk, std::span<std::byte> y, const RunOptions& options);

  /// Must be called after the last chunk. Fails with malformed where the stored tensors are longer
  /// than the plan, or where their files changed meanwhile.
  Status finish();

 private:
  Status read_parameters(Chunk& chunk, Buffers& buffers);

  const Plan& plan_;
  RecipeReaders readers_;
  const int64_t most_;  ///< elements of a chunk
  const int64_t parameter_bytes_;
  Phases* phases_;
  std::optional<ParameterReader> scale_;
  std::optional<ParameterReader> zero_;
  std::mutex mutex_;   ///< guards begin_, and readers_.codes unless these are seekable
  int64_t begin_ = 0;  ///< of the next chunk
};

}  // namespace dequant::format
