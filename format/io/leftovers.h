// Removing the temporary files of runs that were killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dequant/status.h"

namespace dequant::format {

struct Leftover {
  std::string name;
  int64_t bytes = 0;
  std::string kept;  ///< why it stays; empty: it goes
};

enum class Removal { done, pretended };

/// Removes from a folder the temporary files of ours whose writers are dead, and lists all that
/// have such a name. A writer holds a lock on its file while it lives: a file without one is dead
/// if its name tells that it is of the present start of the system. Locks of another machine on a
/// shared file system may not be seen here: a file of another start is dead if nothing was written
/// to it for a day besides. Links, folders and files of other users stay.
Result<std::vector<Leftover>> remove_leftovers(const std::string& folder, Removal removal);

/// Takes out of the list what stays, and adds a sentence for each of it.
void warn_of_kept(std::vector<Leftover>& leftovers, std::vector<std::string>& warnings);

}  // namespace dequant::format
