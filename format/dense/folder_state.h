// The file in the folder of a dense model that says which conversion writes the folder, and which
// files are complete, until all are.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format::dense {

/// The name of the file.
inline constexpr const char* kStateName = ".dequant-unfinished.json";

/// The file: a line with a JSON object that identifies the conversion, and a line with a JSON
/// string for each file that is complete. A last line that does not end was cut by a crash or by a
/// full disk, and does not count.
class FolderState {
 public:
  explicit FolderState(std::string folder);
  FolderState(const FolderState&) = delete;
  FolderState& operator=(const FolderState&) = delete;
  ~FolderState();

  /// Fails with io where the system does not say.
  Result<bool> exists() const;

  /// Locks the folder until this object ends: fails with io where another conversion has the lock.
  /// File systems without locks have none, nor has what is no folder.
  Status lock();

  /// Writes the file, over one that is there. Fails with io.
  Status begin(const nlohmann::ordered_json& conversion);
  /// Demands that the file has the same conversion. Fails with io, with malformed for a file that
  /// is none of these, and with invalid_argument where the conversion is another.
  Status check(const nlohmann::ordered_json& conversion) const;
  /// Reads the names of complete files. Fails as check() does.
  Status resume();
  /// Removes a last line that does not end, to which add() would append another. Fails with io.
  Status cut_last_line() const;

  /// True for a file that a conversion that is resumed has completed.
  bool has(const std::string& name) const { return complete_.contains(name); }
  /// Adds the name of a complete file. Fails with io.
  Status add(const std::string& name) const;

  /// Removes the file. Fails with io.
  Status remove() const;

 private:
  Result<std::string> text() const;

  const std::string folder_;
  const std::string path_;
  std::set<std::string, std::less<>> complete_;
  Descriptor lock_;
};

}  // namespace dequant::format::dense
