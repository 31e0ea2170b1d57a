// Writing the tensors of a dense model into its files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "format/dense/options.h"
#include "format/dense/tasks.h"
#include "format/dense/writes.h"
#include "format/io/shared_file.h"
#include "format/model/audit.h"
#include "format/model/stream.h"
#include "format/model/value_range.h"

namespace dequant::format::dense {

/// Writes files with tensors. The arguments of the constructor must outlive the writer.
class TensorWriter {
 public:
  /// `audit` gets the line of each tensor; null: there is no audit.
  TensorWriter(Sources& sources, const StreamOptions& stream, Done& done, AuditWriter* audit)
      : sources_(sources),
        stream_(stream),
        scatter_(stream_),
        done_(done),
        writes_(done, stream.phases),
        audit_(audit) {}

  /// A file with all its bytes, flushed, which has no name yet. Fails with io, malformed or limit,
  /// and with the error of the caller's progress.
  Result<OutputFile> fill(const OutputShard& shard, const std::string& path, Overwrite overwrite);
  /// Gives such a file its name. Fails with io.
  Status commit(OutputFile& out) const;

  /// Writes a file, whole or not at all. Calls `before`, if it is not null, when all bytes are
  /// written and the file has no name yet. Fails as fill() does, and with the error of `before`.
  Status write(const OutputShard& shard, const std::string& path, Overwrite overwrite,
               const std::function<Status()>& before = nullptr);

  /// Writes the bytes of a task, with the header if the task begins the file. `values` gets those
  /// of its float tensors. Fails as write() does.
  Status write_part(const OutputShard& shard, Range bytes, SharedFile& file, ValueRange& values);

  /// A file that an interrupted conversion has completed: calls Sources::complete() as write()
  /// does. Fails as that does, and with the error of the caller's progress.
  Status skip(const OutputShard& shard);

 private:
  Status write_padding(const OffsetSink& out, const OutputTensor& tensor);
  Status write_piece(const OffsetSink& out, const Piece& piece);
  Status write_audited(const OffsetSink& out, const OutputTensor& tensor, const std::string& file);
  Status copy(const Piece& piece, const OffsetSink& sink);
  OffsetSink sink_of(const OutputTensor& tensor, const OffsetSink& out) const;
  Status explained(const OutputTensor& tensor, Status status) const;
  Result<nlohmann::ordered_json> sources(const OutputTensor& tensor) const;

  Sources& sources_;
  const StreamOptions& stream_;
  Scatter scatter_;
  Done& done_;
  Writes writes_;
  AuditWriter* audit_;
  std::vector<float> floats_;
  std::vector<std::byte> rounded_;
};

/// Calls write(tensors) with a writer that reports `bytes` to the caller's progress, and completes
/// the audit that `own` asks for after it. Fails with io and with the error of `write`.
Status write_with_audit(Sources& sources, const StreamOptions& stream, const Options& own,
                        const WriteOptions& options, int64_t bytes,
                        const std::function<Status(TensorWriter&)>& write);

}  // namespace dequant::format::dense
