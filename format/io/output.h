// Writing files so that they appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "format/io/file.h"

namespace dequant::format {

enum class Overwrite { refuse, replace };

/// A file in the making: written without a name, or under a temporary one, in the directory where it
/// will stand; commit() makes it durable and gives it its name. Destroyed before that, nothing stays.
class OutputFile {
 public:
  /// Fails with io when the directory cannot be written to, when something that is no regular file
  /// stands at the path, or when a file does and `overwrite` says refuse.
  static Result<OutputFile> create(const std::string& path, Overwrite overwrite);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::string& path() const { return path_; }
  /// True once the file has its name, even when commit() failed after that.
  bool in_place() const { return in_place_; }
  /// Bytes written so far, and those left to write_at().
  int64_t size() const { return size_; }

  /// Asks the file system for room, so that a full disk is found before the work. Optional.
  Status reserve(int64_t bytes);

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view bytes) { return write(std::as_bytes(std::span(bytes))); }

  /// Leaves the next bytes to write_at(): write() goes on behind them. Returns where they begin.
  int64_t leave(int64_t bytes);

  /// Writes within what leave() left; from any thread, several at a time.
  Status write_at(int64_t offset, std::span<const std::byte> bytes);

  /// Starts to bring to the disk what lies before `end`, if a write from `begin` to there has filled
  /// another step, so that little is left for commit(). Optional, from any thread; write() does it.
  void start_flush(int64_t begin, int64_t end);

  /// Flushes to the disk, then gives the file its name. After this it is there whatever happens.
  Status commit();

 private:
  OutputFile() = default;
  Status link_into_place();

  Descriptor fd_;
  Descriptor directory_;
  std::string path_;
  std::string base_;       ///< last component of the path
  std::string temporary_;  ///< name in the directory, or empty while the file has none
  int64_t size_ = 0;
  Overwrite overwrite_ = Overwrite::refuse;
  bool in_place_ = false;
};

}  // namespace dequant::format
