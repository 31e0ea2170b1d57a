// Small checkpoints: those of checkpoints.json, of any size, and with some of what they say
// changed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "format/json/json.h"
#include "fuzz/support/cursor.h"

namespace dequant::fuzz {

struct CheckpointTensor {
  std::string name;
  std::string dtype;  ///< as safetensors files spell it
  std::vector<int64_t> shape;
  std::vector<std::byte> data = {};  ///< empty: any
};

struct Checkpoint {
  nlohmann::ordered_json config;                           ///< config.json; empty: there is none
  std::string file = {};                                   ///< another file beside it
  nlohmann::ordered_json said = {};                        ///< what it says
  std::map<std::string, nlohmann::ordered_json> metadata;  ///< of the first file with tensors
  std::vector<CheckpointTensor> tensors;
};

/// Any of the checkpoints of checkpoints.json, with a few rows and columns.
Checkpoint checkpoint(Cursor& cursor);

/// Changes one to four things: a type, a size, a name, a tensor, a value of the configuration.
void change(Checkpoint& checkpoint, Cursor& cursor);

/// A folder in memory, which goes when the process does.
class CheckpointFolder {
 public:
  CheckpointFolder();

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const;

  /// Writes the checkpoint in place of the one before: files of the same name are overwritten, all
  /// others that this object wrote are removed. False where no file can have its tensors, or
  /// where they have more than `most` bytes; data behind the first 64 KiB of a file are zero.
  bool write(const Checkpoint& checkpoint, Cursor& data, bool two_files, int64_t most);

  void write_text(std::string_view name, std::string_view text);

 private:
  using Metadata = std::map<std::string, nlohmann::ordered_json>;
  bool write_tensors(const std::string& name, std::span<const CheckpointTensor> tensors,
                     const Metadata& said, Cursor& data, int64_t most);

  std::string path_;
  std::set<std::string, std::less<>> files_;  ///< that were written
};

}  // namespace dequant::fuzz
