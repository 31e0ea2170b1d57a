// Writing the tensors of a dense checkpoint into its files.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "format/checkpoint/layout.h"
#include "format/checkpoint/special_scales.h"
#include "format/model/audit.h"
#include "format/model/stream.h"

namespace dequant::format::checkpoint {

/// The bytes of output that are done.
class Done {
 public:
  Done(const Progress& progress, int64_t total) : progress_(progress), total_(total) {}

  /// Adds bytes and tells the caller's function. Fails with the error of that function. One call at
  /// a time.
  Status add(int64_t bytes);

  /// The error of the caller's function, which goes to the caller as it is.
  const std::optional<Error>& stopped() const { return stopped_; }

 private:
  const Progress& progress_;
  int64_t total_;
  int64_t done_ = 0;
  std::optional<Error> stopped_;
};

/// Writes files with tensors. The arguments of the constructor must outlive the writer.
class TensorWriter {
 public:
  /// `audit` gets the line of each tensor; null: there is no audit.
  TensorWriter(const Shards& shards, const StreamOptions& stream, Done& done, AuditWriter* audit)
      : shards_(shards),
        stream_(stream),
        scatter_(stream_),
        done_(done),
        audit_(audit),
        scales_(shards) {}

  /// Writes a file, whole or not at all. Fails with io, malformed or limit, and with the error of
  /// the caller's progress.
  Status write(const OutputShard& shard, const std::string& path, Overwrite overwrite);

  /// Counts the scales of a file that is there already as write() does.
  Status count_scales(const OutputShard& shard);

  /// Of the files so far.
  const std::vector<SpecialScales>& special_scales() const { return scales_.found(); }

 private:
  /// Opens the inputs of a group; their scales are counted.
  Result<RecipeReaders> open(const Group& group);
  Status write_tensor(OutputFile& out, const OutputTensor& tensor);
  Status write_audited(OutputFile& out, const OutputTensor& tensor, const std::string& file);
  Status copy(const OutputTensor& tensor, const OffsetSink& sink);
  Status write_at(OutputFile& out, int64_t at, std::span<const std::byte> bytes);
  Result<nlohmann::ordered_json> sources(const OutputTensor& tensor) const;

  const Shards& shards_;
  const StreamOptions& stream_;
  Scatter scatter_;
  Done& done_;
  AuditWriter* audit_;
  ScaleCounter scales_;
  std::vector<float> floats_;
  std::vector<std::byte> rounded_;
  std::mutex writing_;  ///< held while a chunk is written and the caller's progress is called
};

}  // namespace dequant::format::checkpoint
