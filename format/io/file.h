// Reading files by position, never by mapping: a file that shrinks while we read is an error, not a
// signal.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "dequant/status.h"

namespace dequant::format {

/// An owned file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  /// Gives up ownership.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// What tells one file from another, and one state of it from the next.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t changed_ns = 0;  ///< time of the last change of its contents

  bool same_file(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A regular file, open for reading.
class InputFile {
 public:
  /// Fails with io when the path cannot be opened or is not a regular file.
  static Result<InputFile> open(const std::string& path);

  /// Takes over a descriptor that is already open; `name` is for messages.
  static Result<InputFile> adopt(Descriptor fd, std::string name);

  const std::string& name() const { return name_; }
  int64_t size() const { return identity_.size; }
  const FileIdentity& identity() const { return identity_; }

  /// Fills `out` from `offset` on. Fails with io on an error, with malformed when the file has
  /// become shorter than it was.
  Status read(int64_t offset, std::span<std::byte> out) const;

  /// Fails with malformed when the file is not what it was when it was opened.
  Status check_unchanged() const;

 private:
  Descriptor fd_;
  std::string name_;
  FileIdentity identity_;
};

/// The whole of a small file. Fails with limit when it is larger than `max_bytes`.
Result<std::string> read_small_file(const std::string& path, int64_t max_bytes);

/// The identity of whatever the path leads to; size -1 when nothing is there.
FileIdentity identity_of(const std::string& path);

}  // namespace dequant::format
