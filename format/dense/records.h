// The records of tasks: what each has written, and whether that is there.
#pragma once

#include <string>

#include "format/dense/tasks.h"
#include "format/io/output.h"
#include "format/io/shared_file.h"
#include "format/model/value_range.h"

namespace dequant::format::dense {

/// A conversion and its tasks.
struct TaskList {
  const Job& job;
  std::vector<Task> tasks;
  std::string fingerprint;

  const OutputShard& shard_of(size_t task) const { return job.shards()[tasks[task].shard]; }
};

/// The files of a conversion that is carried out by tasks. Its folder has the text of the
/// conversion, and for its fingerprint a folder with the files of the output, until these are
/// complete, and one with the records: processes of an earlier conversion that are still there
/// write elsewhere. Any number of processes use the folder at once. All functions fail with io.
class WorkFolder {
 public:
  /// `output` is the path of the output; nothing is made yet.
  WorkFolder(const std::string& output, const TaskList& list);

  const std::string& path() const { return path_; }
  /// The file of a shard: among the files of the output, or under its own name where it has that.
  std::string data_of(const OutputShard& shard) const;
  std::string record_of(size_t task) const;
  std::string final_of(const OutputShard& shard) const;

  /// Makes the folders and writes the text, or demands that the folder has the same fingerprint.
  /// Fails with invalid_argument where the input, the options or the version differ, and where the
  /// output has other files that `overwrite` does not allow to replace.
  Status begin(const TaskList& list, const std::string& conversion, Overwrite overwrite) const;
  /// The second part of begin().
  Status check(const TaskList& list) const;

  /// The file of a task, to be written; a file that is at its own name is not.
  Result<SharedFile> open(const OutputShard& shard) const;
  /// Reads what the task has written and writes its record.
  Status add_record(const TaskList& list, size_t task, const ValueRange& values,
                    double seconds) const;
  /// Removes the record of a task, so that missing() has a reason.
  Status forget(size_t task) const { return remove_file(record_of(task)); }
  /// Why the task must be carried out; empty: its record is there and true. With `read_again` all
  /// bytes are read.
  Result<std::string> missing(const TaskList& list, size_t task, bool read_again) const;

  /// Gives a shard its name, unless it has it. Fails where another file has the name meanwhile and
  /// `overwrite` is refuse.
  Status move(const OutputShard& shard, Overwrite overwrite) const;
  /// Removes the text, by which the conversion is complete, then all other files.
  Status remove() const;

 private:
  Status check_output(Overwrite overwrite) const;
  Status write_text(const TaskList& list, const std::string& conversion, Overwrite overwrite) const;
  Result<InputFile> open_data(const OutputShard& shard) const;
  std::string text_path() const;
  std::string unfinished(const OutputShard& shard) const;

  const std::string output_;
  const Job& job_;
  const std::string path_;
  const std::string data_;
  const std::string records_;
};

}  // namespace dequant::format::dense
