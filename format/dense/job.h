// A conversion to files of dense tensors that is decided on and not begun.
#pragma once

#include <string>
#include <vector>

#include "format/dense/sources.h"
#include "format/model/report.h"
#include "format/model/write_options.h"

namespace dequant::format::dense {

class OutputFolder;

/// What a conversion writes. A format derives from this class. One function at a time is called.
class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  /// The files with tensors. The names of their tensors, and what their `origin` points to, stay
  /// valid as long as this object.
  virtual const std::vector<OutputShard>& shards() const = 0;
  virtual Sources& sources() = 0;
  /// True where the output is a folder with the shards.
  virtual bool to_folder() const = 0;
  /// True where a folder also gets the index of its shards. The default: if these are several.
  virtual bool has_index() const { return shards().size() > 1; }
  /// The path of a shard when `output` is complete. The default: in the folder, or the output
  /// itself where there is one shard, else beside it.
  virtual std::string path_of(const OutputShard& shard, const std::string& output) const;
  /// All paths that the output gets, unless it is a folder.
  virtual std::vector<std::string> names(const std::string& output) const;
  /// False where files of these names are never replaced.
  virtual bool may_replace() const { return true; }
  /// Identifies the input by names, sizes and headers. Times are no part of it: the machines of a
  /// conversion may have copies of the input, and clocks that differ.
  virtual Result<std::string> input_hash() const = 0;
  /// Fails with malformed where a file of the input changed since it was opened.
  virtual Status check_unchanged() const = 0;
  /// Writes the files without tensors, the one that makes the folder a model last. Fails with io.
  virtual Status write_rest(const OutputFolder& folder) {
    static_cast<void>(folder);
    return {};
  }
};

/// Demands that nothing of the model of that path stays quantized, where the options want that.
/// Fails with unsupported.
Status check_left(const std::string& path, const ConvertReport& report,
                  const WriteOptions& options);

}  // namespace dequant::format::dense
