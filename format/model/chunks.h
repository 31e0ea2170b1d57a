// A dense tensor cut into chunks that fit in memory, which any number of threads may compute.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dequant/executor.h"
#include "format/io/phases.h"
#include "format/model/parameter_reader.h"
#include "format/model/stored_reader.h"

namespace dequant::format {

/// The stored tensors of one recipe, open for reading; null for those that the recipe does not
/// have.
struct RecipeReaders {
  std::unique_ptr<StoredReader> codes;
  std::unique_ptr<StoredReader> scale;
  std::unique_ptr<StoredReader> zero_point;
  std::unique_ptr<StoredReader> tensor_scale = nullptr;
  std::unique_ptr<StoredReader> group_index = nullptr;
  std::unique_ptr<StoredReader> codebook = nullptr;
};

/// The parameters of a recipe: scale, zero point, tensor scale, group index, codebook.
inline constexpr size_t kMostParameters = 5;

/// One chunk, and the buffers of the thread that computes it.
struct Chunk {
  Range elements;
  /// The packed codes of a plan that is not strided; of a strided plan, or codes with a Packing,
  /// all that the elements need.
  std::span<const std::byte> codes;
  std::vector<std::byte> output;

  std::vector<std::byte> code_buffer;
  /// Of each parameter; unused where all of the parameter is in memory.
  std::array<std::vector<std::byte>, kMostParameters> parameter_buffers;
};

/// Which buffers of a chunk are used: results may go to memory of the caller.
enum class Holds { codes, codes_and_output };

/// The chunks of one dense tensor, or of a range of it, from front to back. Each thread calls
/// next() for a chunk and then compute(); any number of threads may do so at once. The y of a
/// strided plan must have no gaps, in the order of the plan's dimensions.
class Chunks {
 public:
  /// A chunk has at most `output_bytes` of output, `parameter_bytes` of scales and as many of zero
  /// points. Of strided plans that need codes from far apart for a few results, a chunk may be
  /// larger, or all codes are held in memory: open() decides within `parameter_bytes`. `phases`, if
  /// not null, gets the time of reading and dequantizing. The plan must outlive this object.
  /// `elements` are those that are computed: all, or of readers that are seekable a range that
  /// starts at a multiple of 8, and of a block.
  Chunks(const Plan& plan, RecipeReaders readers, Range elements, int64_t output_bytes,
         int64_t parameter_bytes, Phases* phases);

  /// True where open() would hold all codes of such a plan in memory, which it refuses where they
  /// have more than `parameter_bytes`. The codes are in a seekable storage.
  static bool holds_codes(const Plan& plan, int64_t output_bytes, int64_t parameter_bytes);

  /// Reads the parameters that fit in `parameter_bytes`, and codes that are held in memory, on
  /// threads of the executor. Must be called first. Fails with io, malformed or limit.
  Status open(const Executor& executor);

  /// How many threads can compute chunks at once: about the number of chunks; 1 where parameters
  /// are read chunk by chunk, as the limit then allows one chunk in memory.
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
  /// One stored tensor other than the codes, and where Slices and Buffers have its part.
  struct Parameter {
    Element element;
    Range Slices::*slice;
    std::span<const std::byte> Buffers::*buffer;
    ParameterReader reader;
  };

  Status open(std::unique_ptr<StoredReader> reader, Range Slices::*slice,
              std::span<const std::byte> Buffers::*buffer);
  Status read_codes(Chunk& chunk, Range slice);

  const Plan& plan_;
  RecipeReaders readers_;
  const Range elements_;
  int64_t most_;                ///< elements of a chunk
  int64_t whole_elements_ = 1;  ///< chunks end at multiples of so many, or at the end of the tensor
  bool long_chunks_ = false;
  const int64_t parameter_bytes_;
  Phases* phases_;
  std::vector<Parameter> parameters_;
  /// All codes, or empty where each chunk reads its own.
  std::vector<std::byte> codes_;
  std::mutex mutex_;  ///< guards begin_, and readers_.codes unless these are seekable
  int64_t begin_;     ///< of the next chunk
};

}  // namespace dequant::format
