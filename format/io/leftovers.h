// Removing the temporary files of processes that were killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dequant/status.h"

namespace dequant::format {

/// A temporary file of dequant.
struct Leftover {
  std::string name;
  int64_t bytes = 0;
  std::string kept;  ///< why it is not removed; empty: it is removed
};

/// Whether files are removed, or only listed as if they were.
enum class Removal { done, pretended };

/// Removes the temporary files of dequant in a folder whose writing process has ended. Returns all
/// files with such a name. A writing process locks its file. So an unlocked file is removed if its
/// name says that it was made since the system started. Locks of another machine on a shared file
/// system may be invisible here. So an unlocked file of another start of a system is only removed
/// if nothing was written to it for a day. Links, folders, files of other users, and files named
/// without a start stay. Fails with io where the folder cannot be read.
Result<std::vector<Leftover>> remove_leftovers(const std::string& folder, Removal removal);

/// Removes the entries of files that stay from the list, and adds a warning for each.
void warn_of_kept(std::vector<Leftover>& leftovers, std::vector<std::string>& warnings);

}  // namespace dequant::format
