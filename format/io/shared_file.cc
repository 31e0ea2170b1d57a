// A file of known size that several processes write.
#include "format/io/shared_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "format/io/errors.h"
#include "format/io/output.h"

namespace dequant::format {

int flush_to_disk(int fd) {
  int result = 0;
  do result = ::fsync(fd);
  while (result != 0 && errno == EINTR);
  return result;
}

Status write_bytes(int fd, const std::string& path, int64_t offset,
                   std::span<const std::byte> bytes) {
  constexpr size_t kMost = size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), std::min(bytes.size(), kMost), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_error("cannot write {} at byte {}", escaped(path), offset);
    offset += n;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

void start_flush_of(int fd, int64_t begin, int64_t end) {
  constexpr int64_t kStep = int64_t{32} << 20;
  const int64_t first = begin / kStep * kStep;
  const int64_t last = end / kStep * kStep;
  if (first < last) ::sync_file_range(fd, first, last - first, SYNC_FILE_RANGE_WRITE);
}

Result<SharedFile> SharedFile::open(const std::string& path, int64_t bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd.valid()) return io_error("cannot open {} for writing", escaped(path));
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0) return io_error("{}", escaped(path));
  if (!S_ISREG(s.st_mode)) return failure(ErrorCode::io, "{} is no regular file", escaped(path));
  if (s.st_size > bytes) {
    return failure(ErrorCode::io, "{} has {} bytes, more than the {} of this output: remove it",
                   escaped(path), s.st_size, bytes);
  }
  // Two processes that both make a new file longer give it the same size.
  if (s.st_size < bytes && ::ftruncate(fd.get(), bytes) != 0)
    return io_error("no room for {} ({} bytes)", escaped(path), bytes);
  return SharedFile(std::move(fd), path);
}

Status SharedFile::reserve(Range bytes) {
  const int64_t size = bytes.end - bytes.begin;
  if (size <= 0 || ::fallocate(fd_.get(), 0, bytes.begin, size) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR) return {};
  return io_error("no room for {} bytes of {}", size, escaped(path_));
}

Status SharedFile::write_at(int64_t offset, std::span<const std::byte> bytes) {
  return write_bytes(fd_.get(), path_, offset, bytes);
}

Status SharedFile::flush() {
  if (flush_to_disk(fd_.get()) != 0) return io_error("cannot flush {} to disk", escaped(path_));
  // On network file systems close() may report errors of writing.
  if (::close(fd_.release()) != 0) return io_error("cannot close {}", escaped(path_));
  return flush_folder(folder_of(path_));
}

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return flush_folder(folder_of(path));
  if (errno != EEXIST) return io_error("cannot make the folder {}", escaped(path));
  struct stat s {};
  if (::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode)) return {};
  return failure(ErrorCode::io, "{} is no folder", escaped(path));
}

Status flush_folder(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return io_error("cannot open the folder {}", escaped(path));
  if (flush_to_disk(fd.get()) == 0 || errno == EINVAL) return {};
  return io_error("cannot flush the folder {} to disk", escaped(path));
}

}  // namespace dequant::format
