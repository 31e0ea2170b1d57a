// Writing files that appear whole or not at all: an unnamed file in the target directory
// (O_TMPFILE; a uniquely named file on file systems without it) is flushed, then linked to its
// name.
#include "format/io/output.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "format/io/errors.h"
#include "format/io/room.h"
#include "format/io/shared_file.h"
#include "format/io/temporary.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

namespace dequant::format {
namespace {

/// Attempts to find a temporary name; the first is hardly ever taken.
constexpr int kAttempts = 16;

std::string base_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// The path by which an open file without a name can be linked; nothing where /proc is not mounted.
std::string link_source(int fd) {
  std::string path = fmt::format("/proc/self/fd/{}", fd);
  return ::access(path.c_str(), F_OK) == 0 ? path : std::string();
}

/// Renames where the file system has no call that takes a name only where it is free: an empty file
/// takes the name, and is replaced at once. It is closed before that, as some network file systems
/// write a file when it is closed.
int rename_over_empty(int directory, const char* from, const char* to) {
  const Uninterrupted section;
  if (!Descriptor(::openat(directory, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)).valid())
    return -1;
  const int renamed = ::renameat(directory, from, directory, to);
  if (renamed == 0) return renamed;
  const int reason = errno;
  ::unlinkat(directory, to, 0);
  errno = reason;
  return renamed;
}

int rename_no_replace(int directory, const char* from, const char* to) {
  const auto renamed =
      static_cast<int>(::syscall(SYS_renameat2, directory, from, directory, to, RENAME_NOREPLACE));
  if (renamed == 0 || (errno != EINVAL && errno != ENOSYS)) return renamed;
  // A file system without RENAME_NOREPLACE: link() also fails where the name exists.
  const int linked = ::linkat(directory, from, directory, to, 0);
  if (linked == 0) ::unlinkat(directory, from, 0);
  const bool no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
  return linked != 0 && no_links ? rename_over_empty(directory, from, to) : linked;
}

Error exists(const std::string& path) {
  return Error{ErrorCode::io, fmt::format("{} exists", escaped(path)), EEXIST};
}

Status check_name(const std::string& path) {
  const std::string base = base_of(path);
  if (!base.empty() && base != "." && base != "..") return {};
  return failure(ErrorCode::io, "\"{}\" is no file name", escaped(path));
}

}  // namespace

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool is_taken(const std::string& path) {
  struct stat s {};
  return ::lstat(path.c_str(), &s) == 0;
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return io_error("cannot remove {}", escaped(path));
}

OutputFile::~OutputFile() {
  if (temporary_.empty()) return;
  const Uninterrupted section;
  ::unlinkat(directory_.get(), temporary_.c_str(), 0);
  temporary_ = {};
}

Status move_file(const std::string& from, const std::string& to, Overwrite overwrite) {
  const int renamed = overwrite == Overwrite::replace
                          ? ::rename(from.c_str(), to.c_str())
                          : rename_no_replace(AT_FDCWD, from.c_str(), to.c_str());
  if (renamed == 0) return {};
  return errno == EEXIST ? exists(to)
                         : io_error("cannot rename {} to {}", escaped(from), escaped(to));
}

Result<OutputFile> OutputFile::create(const std::string& path, Overwrite overwrite) {
  DEQUANT_CHECK(check_name(path));
  OutputFile out;
  out.path_ = path;
  out.base_ = base_of(path);
  out.overwrite_ = overwrite;
  struct stat s {};
  if (::lstat(path.c_str(), &s) == 0) {
    if (!S_ISREG(s.st_mode))
      return failure(ErrorCode::io, "{} is not a regular file", escaped(path));
    if (overwrite == Overwrite::refuse) return exists(path);
    out.access_ = Access{s.st_mode & 0777, s.st_uid, s.st_gid};
  }
  DEQUANT_CHECK(out.open());
  return out;
}

Status OutputFile::check(const std::string& path, Overwrite overwrite) {
  const auto probe = create(path, overwrite);
  return probe ? Status() : Status(probe.error());
}

Status OutputFile::check_folder(const std::string& path) {
  DEQUANT_CHECK(check_name(path));
  OutputFile out;
  out.path_ = path;
  return out.open();
}

Result<OutputFile> OutputFile::create_beside(const OutputFile& other, const std::string& name) {
  OutputFile out;
  out.path_ = other.path_;
  out.rename(name);
  out.access_ = other.access_;
  DEQUANT_CHECK(out.open());
  return out;
}

OutputFile OutputFile::in_memory(std::span<std::byte> memory) {
  OutputFile out;
  out.memory_ = memory;
  return out;
}

Status OutputFile::open() {
  const std::string folder = folder_of(path_);
  directory_ = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_.valid()) return io_error("cannot open the folder {}", escaped(folder));
  fd_ = Descriptor(open_at(".", O_TMPFILE));
  if (fd_.valid()) source_ = link_source(fd_.get());
  const bool named =
      fd_.valid() ? source_.empty() : errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  if (named) {
    open_under_temporary_name();
  } else if (fd_.valid()) {
    locked_ = lock(fd_.get());  // commit() may give it a temporary name
  }
  if (!fd_.valid()) return io_error("cannot write to the folder {}", escaped(folder));
  give_access();
  return {};
}

/// Fails with errno.
void OutputFile::open_under_temporary_name() {
  locked_ = true;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Uninterrupted section;
    UnfinishedName name(directory_.get(),
                        temporary_name(locked_ ? Locking::held : Locking::impossible));
    fd_ = Descriptor(open_at(name.c_str(), O_CREAT | O_EXCL));
    if (!fd_.valid() && errno == EEXIST) continue;
    if (!fd_.valid()) return;
    temporary_ = std::move(name);
    if (!locked_) return;
    if (lock(fd_.get())) {
      struct stat s {};
      if (::fstat(fd_.get(), &s) != 0) {
        fd_ = Descriptor();
        return;
      }
      // Another process that removes leftovers may have removed this file before it was locked.
      if (s.st_nlink != 0) return;
    } else {
      locked_ = errno == EWOULDBLOCK;
    }
    ::unlinkat(directory_.get(), temporary_.c_str(), 0);
    temporary_ = {};
  }
  fd_ = Descriptor();
  errno = EAGAIN;
}

/// Creates a file that will replace another with mode 0600: other users may have no right to read
/// it. give_access() then sets the final mode.
int OutputFile::open_at(const char* name, int flags) const {
  return ::openat(directory_.get(), name, flags | O_RDWR | O_CLOEXEC, access_ ? 0600 : 0666);
}

/// Sets owner and group where the system allows it: some file systems have no owners, and only root
/// may change the owner of a file.
void OutputFile::give_access() {
  if (!access_) return;
  const int group = ::fchown(fd_.get(), uid_t(-1), access_->group);
  const int owner = ::fchown(fd_.get(), access_->owner, gid_t(-1));
  const int permissions = ::fchmod(fd_.get(), access_->permissions);
  static_cast<void>(group), static_cast<void>(owner), static_cast<void>(permissions);
}

void OutputFile::rename(const std::string& name) {
  path_ = path_.substr(0, path_.find_last_of('/') + 1) + name;
  base_ = name;
}

Status OutputFile::clear() {
  if (::ftruncate(fd_.get(), 0) != 0) return io_error("cannot write {}", escaped(path_));
  size_ = 0;
  flushed_ = false;
  return {};
}

Status OutputFile::reserve(int64_t bytes) {
  if (memory_ || bytes <= 0) return {};
  DEQUANT_CHECK(check_room(path_, bytes));
  if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, bytes) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR) return {};
  return io_error("no room for {} ({} bytes)", escaped(path_), bytes);
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  const int64_t begin = leave(static_cast<int64_t>(bytes.size()));
  DEQUANT_CHECK(write_at(begin, bytes));
  start_flush(begin, size_);
  return {};
}

int64_t OutputFile::leave(int64_t bytes) {
  flushed_ = false;
  return std::exchange(size_, size_ + bytes);
}

Status OutputFile::write_at(int64_t offset, std::span<const std::byte> bytes) {
  if (memory_) {
    const auto begin = std::min(static_cast<size_t>(offset), memory_->size());
    if (bytes.size() > memory_->size() - begin) {
      return failure(ErrorCode::io, "no room for {} bytes at byte {} of the {} of the output",
                     bytes.size(), offset, memory_->size());
    }
    std::copy(bytes.begin(), bytes.end(), memory_->begin() + static_cast<std::ptrdiff_t>(begin));
    return {};
  }
  return write_bytes(fd_.get(), path_, offset, bytes);
}

void OutputFile::start_flush(int64_t begin, int64_t end) {
  if (!memory_) start_flush_of(fd_.get(), begin, end);
}

/// A file needs a name before it can replace another.
Status OutputFile::get_ready() {
  if (!temporary_.empty() || overwrite_ == Overwrite::refuse) return {};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    UnfinishedName name(directory_.get(),
                        temporary_name(locked_ ? Locking::held : Locking::impossible));
    if (::linkat(AT_FDCWD, source_.c_str(), directory_.get(), name.c_str(), AT_SYMLINK_FOLLOW) ==
        0) {
      temporary_ = std::move(name);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return io_error("cannot create {}", escaped(path_));
}

Status OutputFile::link_into_place() {
  const int directory = directory_.get();
  DEQUANT_CHECK(get_ready());
  if (temporary_.empty()) {
    if (::linkat(AT_FDCWD, source_.c_str(), directory, base_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return errno == EEXIST ? exists(path_) : io_error("cannot create {}", escaped(path_));
    in_place_ = true;
    return {};
  }
  const int renamed = overwrite_ == Overwrite::replace
                          ? ::renameat(directory, temporary_.c_str(), directory, base_.c_str())
                          : rename_no_replace(directory, temporary_.c_str(), base_.c_str());
  if (renamed != 0) {
    const bool taken = errno == EEXIST && overwrite_ == Overwrite::refuse;
    return taken ? exists(path_) : io_error("cannot create {}", escaped(path_));
  }
  temporary_ = {};
  in_place_ = true;
  return {};
}

/// On destruction removes the name of the first file, unless the second file has its name too.
struct OutputFile::Together {
  OutputFile& first;
  const OutputFile& second;

  ~Together() {
    if (!first.in_place_ || second.in_place_) return;
    ::unlinkat(first.directory_.get(), first.base_.c_str(), 0);
    first.in_place_ = false;
  }
};

Status OutputFile::flush() {
  if (memory_ || flushed_) return {};
  if (flush_to_disk(fd_.get()) != 0) return io_error("cannot flush {} to disk", escaped(path_));
  // On network file systems close() may report errors of writing. The lock lasts until the last
  // close.
  if (!temporary_.empty()) {
    const int copy = ::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0 || ::close(copy) != 0) return io_error("cannot close {}", escaped(path_));
  }
  flushed_ = true;
  return {};
}

Status OutputFile::sync_directory() {
  if (flush_to_disk(directory_.get()) == 0 || errno == EINVAL) return {};
  return io_error("{} is in place, but its folder could not be flushed to disk", escaped(path_));
}

Status OutputFile::commit() {
  if (memory_) return {};
  DEQUANT_CHECK(flush());
  {
    const Uninterrupted section;
    DEQUANT_CHECK(link_into_place());
  }
  fd_ = Descriptor();
  return sync_directory();
}

Result<bool> OutputFile::commit_both(OutputFile& first, OutputFile& second) {
  DEQUANT_CHECK(first.flush());
  DEQUANT_CHECK(second.flush());
  {
    const Uninterrupted section;
    const Together together{first, second};
    DEQUANT_CHECK(second.get_ready());
    if (const Status linked = first.link_into_place(); !linked) {
      if (linked.error().system == EEXIST) return false;
      return linked.error();
    }
    DEQUANT_CHECK(second.link_into_place());
  }
  first.fd_ = Descriptor();
  second.fd_ = Descriptor();
  DEQUANT_CHECK(second.sync_directory());
  return true;
}

}  // namespace dequant::format
