// Reading a dense tensor from front to back, in bands of any number of elements.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/model/code_bands.h"
#include "format/model/model_file.h"

namespace dequant::format {

/// Computes or reads a dense tensor band by band. The file, the tensor and the options must outlive
/// this object.
class Bands {
 public:
  /// For bands of at most `most` elements. Needs about four times their bytes, and as much for
  /// scales and zero points as parameter_memory(). Fails as open_readers() does.
  static Result<std::unique_ptr<Bands>> open(ModelFile& file, const DenseTensor& tensor,
                                             const StreamOptions& options, int64_t most);

  /// The packed bytes of the next `count` elements: a multiple of 8, or all that are left. They are
  /// valid until the next call. Fails with io, malformed or limit.
  Result<std::span<const std::byte>> next(int64_t count);

  /// Must be called after the last band. Fails with malformed where the file changed.
  Status finish();

 private:
  explicit Bands(const StreamOptions& options) : options_(options) {}
  Status open_chunks(const Plan& plan, RecipeReaders readers);
  /// Opens the next band of codes; false after the last one.
  Result<bool> next_codes();
  Status fill(size_t bytes);

  const StreamOptions& options_;
  int64_t most_bytes_ = 0;
  std::unique_ptr<StoredReader> stored_;  ///< of a tensor that is not computed
  std::optional<Chunks> chunks_;          ///< of a tensor that is computed, or of code_band_
  // Of a tensor whose codes lie in another order and do not fit in memory:
  std::optional<CodeBands> codes_;
  RecipeReaders readers_;  ///< of the whole tensor
  int64_t next_codes_ = 0;
  CodeBand code_band_;
  Chunk chunk_;
  size_t element_bytes_ = 0;
  std::vector<std::byte> bytes_;  ///< computed: the last band, and elements behind it
  size_t taken_ = 0;              ///< bytes of the last band
};

}  // namespace dequant::format
