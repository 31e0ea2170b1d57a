// The folder of a dense model while a conversion writes it.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "format/dense/folder_state.h"
#include "format/dense/job.h"
#include "format/dense/tensor_writer.h"

namespace dequant::format::dense {

/// Files of the folder. While the conversion goes on, the folder also has a FolderState, so that
/// another run can continue: it is written before the first shard, and removed when the model is
/// complete. A model that is replaced loses its config.json and its index before it loses weights,
/// so that the folder is none that loads while it has weights of two models.
class OutputFolder {
 public:
  /// The arguments must outlive the object.
  /// `input` identifies the files that are read and their contents; it is only compared. With
  /// `resume` the conversion continues another.
  OutputFolder(std::string path, const std::string& input, const Job& job, bool resume,
               Overwrite overwrite)
      : path_(std::move(path)),
        state_(path_),
        input_(input),
        shards_(job.shards()),
        has_index_(job.has_index()),
        resume_(resume),
        overwrite_(overwrite) {}

  std::string path_of(const std::string& name) const { return fmt::format("{}/{}", path_, name); }
  /// What to do where a file of the output exists: a conversion that continues another replaces it.
  Overwrite overwrite() const { return resume_ ? Overwrite::replace : overwrite_; }

  /// Makes the folder, or demands that it has nothing of another model; with `resume`, that what it
  /// has is of the same conversion. Then writes the files with tensors, but for those that the
  /// conversion has completed before. Where that fails before the first file has its name and
  /// before files of another model go, the folder is as it was. `other_bytes` is the size of the
  /// files that are written later. Fails with io, also where the disk has no room, and as
  /// TensorWriter does.
  Status write_shards(TensorWriter& tensors, int64_t other_bytes);

  /// Demands what write_shards() demands of the folder, which need not be there. Writes nothing.
  Status check() const;
  /// The same, and room on the disk, as a dry run does.
  Status check_dry(int64_t other_bytes);
  /// Demands that the folder, which is there, has nothing of another model; with
  /// Overwrite::replace, that it has no weights of another model. Fails with io.
  Status check_others() const;

  /// Takes the files from a model that is to be replaced without which it does not load. Fails with
  /// io.
  Status withdraw() const;

  /// Writes the index of the shards where the job has one.
  Status write_index() const;
  /// Writes a text file.
  Status write_text(const std::string& name, std::string_view text) const;

  /// The model is complete.
  Status finish() const;

 private:
  Status open();
  /// True where the folder has the state of a conversion that is to be continued.
  Result<bool> continues() const;
  Status check_room(int64_t other_bytes) const;
  /// True for a file that a conversion which is continued has completed.
  Result<bool> has(const OutputShard& shard) const;
  Status write_all(TensorWriter& tensors, int64_t other_bytes);
  Status write(TensorWriter& tensors, const OutputShard& shard);
  void abandon() const;
  nlohmann::ordered_json conversion() const;
  Status begin();

  const std::string path_;
  FolderState state_;
  const std::string& input_;
  const std::vector<OutputShard>& shards_;
  const bool has_index_;
  const bool resume_;
  const Overwrite overwrite_;
  bool made_ = false;     ///< the folder, by open()
  bool begun_ = false;    ///< `state_` was written by begin()
  bool changed_ = false;  ///< a file of the output has its name, or files of another model went
};

/// The error, with the system's ENOTEMPTY, of an output that may be replaced only on request.
Error not_empty(const std::string& folder, std::string_view advice = {});

/// True for names of files with weights, or with the index of such files.
bool is_weight(std::string_view name);

/// Demands that the name of an output, `what` in the message, does not end as files of models do,
/// other than with `own`. Fails with invalid_argument.
Status check_ending(const std::string& output, std::string_view what, std::string_view own = {});

/// check_ending() of a new folder. A folder that exists may have any name.
Status check_name_of_new(const std::string& folder);

}  // namespace dequant::format::dense
