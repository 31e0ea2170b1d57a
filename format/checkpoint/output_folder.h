// The folder of a dense checkpoint while a conversion writes it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "format/checkpoint/layout.h"
#include "format/checkpoint/other_files.h"

namespace dequant::format::checkpoint {

/// Files of the folder. While the conversion goes on, the folder also has a file that says which
/// conversion this is, so that another run can continue: it is written before the first shard, and
/// removed when the checkpoint is complete.
class OutputFolder {
 public:
  /// The arguments must outlive the object.
  OutputFolder(std::string path, const Groups& groups, const Layout& layout, const Options& own,
               const WriteOptions& options)
      : path_(std::move(path)), groups_(groups), layout_(layout), own_(own), options_(options) {}

  std::string path_of(const std::string& name) const { return fmt::format("{}/{}", path_, name); }
  /// What to do where a file of the output exists: a conversion that continues another replaces it.
  Overwrite overwrite() const { return own_.resume ? Overwrite::replace : options_.overwrite; }

  /// Makes the folder, or demands that it has nothing of another checkpoint; by Options::resume,
  /// that what it has is of the same conversion. Fails with io.
  Status open();

  /// Fails with io where the disk has no room for the files that are not there.
  Status check_room(const OtherFiles& others) const;

  /// True for a file that a conversion which is continued has completed.
  Result<bool> has(const OutputShard& shard) const;

  /// The checkpoint is complete.
  Status finish() const;

  /// The conversion failed before a file was complete: the folder is as before open().
  void abandon() const;

 private:
  std::string state() const;
  Status check_state() const;
  Status check_others() const;
  Status write_state() const;

  const std::string path_;
  const Groups& groups_;
  const Layout& layout_;
  const Options& own_;
  const WriteOptions& options_;
  bool made_ = false;  ///< by open()
};

/// The name of the index of a checkpoint with several files.
std::string index_name();

}  // namespace dequant::format::checkpoint
