// Reading files by position. Files are not mapped into memory: where another process truncates a
// mapped file, reading is a signal instead of an error.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "dequant/status.h"
#include "format/io/phases.h"

namespace dequant::format {

/// A file descriptor that is closed on destruction.
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

/// Identifies a file and the state of its contents.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t changed_ns = 0;  ///< time of the last change of its contents

  /// True for two states of one file.
  bool same_file(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Bytes in memory that are read as a file. Another thread may change them meanwhile, as a file may
/// change, but not move them.
struct MemoryBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner = nullptr;  ///< keeps the bytes; null: the caller does
};

/// A regular file, open for reading, or bytes in memory.
class InputFile {
 public:
  /// Opens the file at the path. Fails with io when it cannot be opened or is no regular file.
  static Result<InputFile> open(const std::string& path);

  /// The file of an open descriptor; `name` is for messages. Fails with io when it is no regular
  /// file.
  static Result<InputFile> adopt(Descriptor fd, std::string name);

  /// A file of bytes in memory; `name` is for messages. Its identity is that of no file.
  static InputFile in_memory(MemoryBytes memory, std::string name);

  const std::string& name() const { return name_; }
  int64_t size() const { return identity_.size; }
  const FileIdentity& identity() const { return identity_; }

  /// Fills `out` with the bytes from `offset` on. Fails with io on an error of the system, and with
  /// malformed when the file became shorter since it was opened.
  Status read(int64_t offset, std::span<std::byte> out) const;

  /// Fails with malformed when the file changed since it was opened.
  Status check_unchanged() const;

 private:
  bool is_in_memory() const { return !fd_.valid(); }

  Descriptor fd_;
  MemoryBytes memory_;  ///< of a file without a descriptor
  std::string name_;
  FileIdentity identity_;
};

/// Receives the next bytes of a file. Its error ends the reading, which returns the error.
using PartVisitor = std::function<Status(std::span<const std::byte> part)>;

/// Reads `size` bytes from `offset` on, from front to back, in parts of 1 MiB; the last part may be
/// shorter. `phases` gets the time of reading, unless it is null. Fails as InputFile::read() does,
/// and with the error of `visit`.
Status read_in_parts(const InputFile& file, int64_t offset, int64_t size, const PartVisitor& visit,
                     Phases* phases = nullptr);

/// The contents of a file. Fails with limit when it is larger than `max_bytes`, and as InputFile
/// does.
Result<std::string> read_small_file(const std::string& path, int64_t max_bytes);

/// The identity of the file or folder at the path, links followed; its size is -1 where there is
/// none.
FileIdentity identity_of(const std::string& path);

}  // namespace dequant::format
