// A dense tensor from front to back, in bands of any number of elements.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "format/model/model_file.h"

namespace dequant::format {

/// Computes or reads a dense tensor a band at a time. The file and the tensor must outlive it.
class Bands {
 public:
  /// Its bands have `most` elements at most; about four times their bytes are held, beside the
  /// parameters that StreamOptions::memory bounds. Fails as open_readers() does.
  static Result<std::unique_ptr<Bands>> open(ModelFile& file, const DenseTensor& tensor,
                                             const StreamOptions& options, int64_t most);

  /// The packed bytes of the next elements: a multiple of 8, or all that are left. Valid until the
  /// next call. Fails with io, malformed or limit.
  Result<std::span<const std::byte>> next(int64_t count);

  /// Call after the last band: that the file is as it was.
  Status finish();

 private:
  explicit Bands(const StreamOptions& options) : options_(options) {}
  Status fill(size_t bytes);

  const StreamOptions& options_;
  std::unique_ptr<StoredReader> stored_;  ///< of a tensor that is copied
  std::optional<Chunks> chunks_;          ///< of one that is computed
  Chunk chunk_;
  size_t element_bytes_ = 0;
  std::vector<std::byte> bytes_;  ///< computed: the last band, and what came with it
  size_t taken_ = 0;              ///< bytes of the last band
};

}  // namespace dequant::format
