// A dense tensor cut into chunks that fit memory, which any threads may compute.
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

/// One chunk, and the memory of the thread that computes it.
struct Chunk {
  Range elements;
  std::vector<std::byte> codes;
  std::vector<std::byte> scale;       ///< a slice, unless they are held whole
  std::vector<std::byte> zero_point;  ///< the same
  std::vector<std::byte> output;
};

/// What a chunk holds: its output may go elsewhere.
enum class Holds { codes, codes_and_output };

/// The chunks of one dense tensor, from front to back. Threads take them in turns with next() and
/// compute them side by side. Plans that are not strided.
class Chunks {
 public:
  /// A chunk has `output_bytes` at most, and `parameter_bytes` of scales and as many of zero
  /// points. The plan must outlive the chunks.
  Chunks(const Plan& plan, RecipeReaders readers, int64_t output_bytes, int64_t parameter_bytes,
         Phases* phases);

  /// Reads the scales and zero points that are held whole.
  Status open();

  /// How many chunks there are, about; 1 if the memory is enough for one at a time only.
  int64_t side_by_side() const;

  /// Takes the memory that any chunk needs for these; throws std::bad_alloc where there is none.
  void make_room(Chunk& chunk, Holds what) const;

  /// Sets the next chunk, or none: false. Reads its codes where storage yields them only in order.
  Result<bool> next(Chunk& chunk);

  /// Fills chunk.output.
  Status compute(Chunk& chunk, const Executor& executor);
  /// Fills `y` instead, which holds just the elements of the chunk.
  Status compute(Chunk& chunk, std::span<std::byte> y, const RunOptions& options);

  /// Call after the last chunk: that the inputs hold no more, and that their files are as they
  /// were.
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
  std::mutex turn_;  ///< guards what follows, and the codes unless they are seekable
  int64_t begin_ = 0;
};

}  // namespace dequant::format
