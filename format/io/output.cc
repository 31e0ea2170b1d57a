// Writing files so that they appear whole or not at all: an unnamed file in the target directory
// (O_TMPFILE; a uniquely named one where the file system has no such thing), flushed, then linked to
// its name.
#include "format/io/output.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "format/io/errors.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

namespace dequant::format {
namespace {

/// A name nobody else uses; independent of the output's, which may be as long as names can be.
std::string temporary_name() {
  std::random_device random;
  return fmt::format(".dq-tmp-{:08x}{:08x}", random(), random());
}

/// The path by which an open file without a name can be linked; nothing where /proc is not mounted.
std::string link_source(int fd) {
  std::string path = fmt::format("/proc/self/fd/{}", fd);
  return ::access(path.c_str(), F_OK) == 0 ? path : std::string();
}

int rename_no_replace(int directory, const char* from, const char* to) {
  return static_cast<int>(
      ::syscall(SYS_renameat2, directory, from, directory, to, RENAME_NOREPLACE));
}

Error exists(const std::string& path) {
  return Error{ErrorCode::io, fmt::format("{} exists", escaped(path)), EEXIST};
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      directory_(std::move(other.directory_)),
      path_(std::move(other.path_)),
      base_(std::move(other.base_)),
      temporary_(std::exchange(other.temporary_, {})),
      size_(other.size_),
      overwrite_(other.overwrite_),
      in_place_(other.in_place_) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlinkat(directory_.get(), temporary_.c_str(), 0);
}

Result<OutputFile> OutputFile::create(const std::string& path, Overwrite overwrite) {
  const size_t slash = path.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  OutputFile out;
  out.path_ = path;
  out.base_ = slash == std::string::npos ? path : path.substr(slash + 1);
  out.overwrite_ = overwrite;
  if (out.base_.empty() || out.base_ == "." || out.base_ == "..") {
    return failure(ErrorCode::io, "\"{}\" is no file name", escaped(path));
  }
  struct stat s {};
  if (::lstat(path.c_str(), &s) == 0) {
    if (!S_ISREG(s.st_mode))
      return failure(ErrorCode::io, "{} is not a regular file", escaped(path));
    if (overwrite == Overwrite::refuse) return exists(path);
  }
  out.directory_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!out.directory_.valid()) return io_error("cannot open the folder {}", escaped(folder));

  out.fd_ = Descriptor(::openat(out.directory_.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  const bool named = out.fd_.valid() ? link_source(out.fd_.get()).empty()
                                     : errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  if (named) {
    out.temporary_ = temporary_name();
    out.fd_ = Descriptor(::openat(out.directory_.get(), out.temporary_.c_str(),
                                  O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666));
    if (!out.fd_.valid()) out.temporary_.clear();
  }
  if (!out.fd_.valid()) return io_error("cannot write to the folder {}", escaped(folder));
  return out;
}

Status OutputFile::reserve(int64_t bytes) {
  if (bytes <= 0 || ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, bytes) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR) return {};
  return io_error("no room for {} ({} bytes)", escaped(path_), bytes);
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  const int64_t begin = leave(static_cast<int64_t>(bytes.size()));
  DEQUANT_CHECK(write_at(begin, bytes));
  start_flush(begin, size_);
  return {};
}

int64_t OutputFile::leave(int64_t bytes) { return std::exchange(size_, size_ + bytes); }

Status OutputFile::write_at(int64_t offset, std::span<const std::byte> bytes) {
  constexpr size_t kMost = size_t{1} << 30;
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_.get(), bytes.data(), std::min(bytes.size(), kMost), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_error("cannot write {} at byte {}", escaped(path_), offset);
    offset += n;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

void OutputFile::start_flush(int64_t begin, int64_t end) {
  constexpr int64_t kStep = int64_t{32} << 20;
  const int64_t first = begin / kStep * kStep;
  const int64_t last = end / kStep * kStep;
  // Nothing depends on it: fsync waits for all, and finds all errors.
  if (first < last) ::sync_file_range(fd_.get(), first, last - first, SYNC_FILE_RANGE_WRITE);
}

Status OutputFile::link_into_place() {
  const int directory = directory_.get();
  if (temporary_.empty()) {
    const std::string self = link_source(fd_.get());
    const auto link_as = [&](const std::string& name) {
      return ::linkat(AT_FDCWD, self.c_str(), directory, name.c_str(), AT_SYMLINK_FOLLOW);
    };
    if (overwrite_ == Overwrite::refuse) {
      if (link_as(base_) == 0) return {};
      if (errno == EEXIST) return exists(path_);
      return io_error("cannot create {}", escaped(path_));
    }
    std::string name = temporary_name();
    if (link_as(name) != 0) return io_error("cannot create {}", escaped(path_));
    temporary_ = std::move(name);  // which cannot fail: from here on there is a name to take away
  }
  int renamed = overwrite_ == Overwrite::replace
                    ? ::renameat(directory, temporary_.c_str(), directory, base_.c_str())
                    : rename_no_replace(directory, temporary_.c_str(), base_.c_str());
  if (renamed != 0 && overwrite_ == Overwrite::refuse && (errno == EINVAL || errno == ENOSYS)) {
    // A file system without RENAME_NOREPLACE: a hard link refuses an existing name as well.
    renamed = ::linkat(directory, temporary_.c_str(), directory, base_.c_str(), 0);
    if (renamed == 0) ::unlinkat(directory, temporary_.c_str(), 0);
  }
  if (renamed != 0)
    return errno == EEXIST ? exists(path_) : io_error("cannot create {}", escaped(path_));
  temporary_.clear();
  return {};
}

Status OutputFile::commit() {
  if (::fsync(fd_.get()) != 0) return io_error("cannot flush {} to disk", escaped(path_));
  // A file under a temporary name is closed before it gets its own; one without a name is linked by
  // its descriptor, and what is flushed is not lost by closing.
  if (!temporary_.empty() && ::close(fd_.release()) != 0) {
    return io_error("cannot close {}", escaped(path_));
  }
  DEQUANT_CHECK(link_into_place());
  in_place_ = true;
  fd_ = Descriptor();
  if (::fsync(directory_.get()) != 0 && errno != EINVAL) {
    return io_error("{} is in place, but its folder could not be flushed to disk", escaped(path_));
  }
  return {};
}

}  // namespace dequant::format
