// Whether a disk has room for an output.
#include "format/io/room.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "format/io/errors.h"
#include "format/io/output.h"

namespace dequant::format {

Status check_room(const std::string& output, int64_t bytes) {
  std::error_code e;
  const std::string folder = std::filesystem::is_directory(output, e) ? output : folder_of(output);
  struct statvfs s {};
  // A tmpfs without a limit, and some that FUSE mounts, have no blocks at all.
  if (::statvfs(folder.c_str(), &s) != 0 || s.f_blocks == 0 || s.f_frsize == 0) return {};
  const uint64_t needed = bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  // In whole blocks, as the bytes of a huge disk may be more than a uint64_t counts.
  if (needed / s.f_frsize + (needed % s.f_frsize != 0 ? 1 : 0) <= s.f_bavail) return {};
  return Error{ErrorCode::io,
               fmt::format("{}: {} bytes are needed and {} are free", escaped(output), needed,
                           s.f_bavail * s.f_frsize),
               ENOSPC};
}

int64_t bytes_freed(const std::string& path) {
  constexpr int64_t kStatBlock = 512;
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0 || !S_ISREG(s.st_mode) || s.st_nlink != 1) return 0;
  return std::min<int64_t>(s.st_size, s.st_blocks * kStatBlock);  // a sparse file has less
}

}  // namespace dequant::format
