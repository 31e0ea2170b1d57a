// A file of known size that several processes write, each its own bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dequant/plan.h"
#include "format/io/file.h"

namespace dequant::format {

/// fsync() that no signal ends: 0, or -1 and errno.
int flush_to_disk(int fd);

/// Writes all bytes at an offset of a file; `path` is for messages. Any number of threads may call
/// it at once. Fails with io.
Status write_bytes(int fd, const std::string& path, int64_t offset,
                   std::span<const std::byte> bytes);

/// Call after a write of [begin, end). Where these bytes complete a step of the file, the system
/// starts to flush the step, so that fsync() has few bytes left. An error of the disk is reported
/// by fsync().
void start_flush_of(int fd, int64_t begin, int64_t end);

/// An open file of that kind. It has its name from the beginning on. All functions fail with io.
class SharedFile {
 public:
  /// Opens the file at the path, or creates it, with `bytes` bytes: those that nobody has written
  /// are 0. Only for writing: systems that share files between machines then send the bytes that
  /// were written, not pages around them. Fails with io also where the file is longer.
  static Result<SharedFile> open(const std::string& path, int64_t bytes);

  /// Allocates space on the disk for a range, so that a full disk is an error before the work.
  Status reserve(Range bytes);

  /// Any number of threads may call it at once.
  Status write_at(int64_t offset, std::span<const std::byte> bytes);

  /// Call after a write of [begin, end), as OutputFile::start_flush().
  void start_flush(int64_t begin, int64_t end) { start_flush_of(fd_.get(), begin, end); }

  /// Flushes what was written, and the name of a file that this object created.
  Status flush();

 private:
  SharedFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Descriptor fd_;
  std::string path_;
};

/// Makes a folder that may exist.
Status make_folder(const std::string& path);

/// Flushes the names in a folder to the disk.
Status flush_folder(const std::string& path);

}  // namespace dequant::format
