// Finding and removing the temporary files of processes that were killed.
#include "format/io/leftovers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>

#include "format/io/errors.h"
#include "format/io/file.h"
#include "format/io/temporary.h"

namespace dequant::format {
namespace {

constexpr time_t kDay = 24 * 60 * 60;

/// Why dequant must not remove a file, by its kind and owner; empty if dequant may.
std::optional<std::string> foreign(const struct stat& s) {
  if (!S_ISREG(s.st_mode)) return "it is not a regular file";
  if (s.st_uid != ::geteuid()) return "it belongs to another user";
  return std::nullopt;
}

std::string reason_of(int error) {
  return error == EWOULDBLOCK ? "a run is writing it" : std::strerror(error);
}

class Sweep {
 public:
  Sweep(int directory, Removal removal)
      : directory_(directory), removal_(removal), start_(start_of_system()) {}

  /// Returns nothing for a name that is no temporary_name(), and for a file that vanishes
  /// meanwhile.
  std::optional<Leftover> look_at(const std::string& name) const {
    const auto start = start_in(name);
    struct stat s {};
    if (!start || ::fstatat(directory_, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) return {};
    Leftover found{name, s.st_size, {}};
    if (auto reason = foreign(s)) {
      found.kept = *std::move(reason);
    } else if (start->empty()) {
      found.kept = "nothing tells whether the run that made it is alive";
    } else if (*start != start_ && ::time(nullptr) - s.st_mtim.tv_sec < kDay) {
      found.kept = "it is less than a day old and not of this start of this machine";
    } else {
      return sweep(std::move(found));
    }
    return found;
  }

 private:
  std::optional<Leftover> sweep(Leftover found) const {
    const Descriptor file(::openat(directory_, found.name.c_str(),
                                   O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT) return {};
    if (!file.valid() || !lock(file.get())) {
      found.kept = reason_of(errno);
      return found;
    }
    // The lock shows that no process writes the file. But its writer may have renamed it to its
    // final name and ended after the folder was listed.
    struct stat open {};
    struct stat named {};
    if (::fstat(file.get(), &open) != 0 || foreign(open)) return {};
    if (::fstatat(directory_, found.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) return {};
    if (open.st_dev != named.st_dev || open.st_ino != named.st_ino) return {};
    found.bytes = open.st_size;
    if (removal_ == Removal::done && ::unlinkat(directory_, found.name.c_str(), 0) != 0) {
      found.kept = reason_of(errno);
    }
    return found;
  }

  int directory_;
  Removal removal_;
  std::string start_;
};

}  // namespace

Result<std::vector<Leftover>> remove_leftovers(const std::string& folder, Removal removal) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return io_error("cannot open the folder {}", escaped(folder));
  const Sweep sweep(directory.get(), removal);
  std::vector<Leftover> found;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (auto leftover = sweep.look_at(entry->path().filename())) {
      found.push_back(*std::move(leftover));
    }
  }
  if (error) {
    errno = error.value();
    return io_error("cannot read the folder {}", escaped(folder));
  }
  std::sort(found.begin(), found.end(),
            [](const Leftover& a, const Leftover& b) { return a.name < b.name; });
  return found;
}

void warn_of_kept(std::vector<Leftover>& leftovers, std::vector<std::string>& warnings) {
  std::erase_if(leftovers, [&](const Leftover& l) {
    if (l.kept.empty()) return false;
    warnings.push_back(fmt::format("{} stays: {}", l.name, l.kept));
    return true;
  });
}

}  // namespace dequant::format
