// Files whose bytes are fetched when they are read: local copies, at first without contents, of
// files that only the caller can read.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dequant/plan.h"
#include "dequant/status.h"

namespace dequant::format {

/// Writes bytes of a file that are to be read into the file at the path. Returns a range around
/// them, all of which is there. Any thread calls it, also several threads at once.
using Fetch = std::function<Result<Range>(const std::string& path, Range bytes)>;

/// While an object of this class lives, InputFile calls `fetch` before it reads bytes of a file
/// below the folder for the first time, and does not look whether such a file changes: fetching
/// changes it. Files are known by the path with which they were opened.
class FetchedFolder {
 public:
  FetchedFolder(const std::string& path, Fetch fetch);
  FetchedFolder(const FetchedFolder&) = delete;
  FetchedFolder& operator=(const FetchedFolder&) = delete;
  /// No thread may read a file of the folder any more.
  ~FetchedFolder();

  class State;

 private:
  std::shared_ptr<State> state_;
};

/// True for a file below such a folder.
bool is_fetched(const std::string& path);

/// Fetches bytes of a file, where they are not there and the file is below such a folder. Fails as
/// `fetch` does.
Status fetch_bytes(const std::string& path, Range bytes);

}  // namespace dequant::format
