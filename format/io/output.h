// Writing files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "format/io/file.h"
#include "format/io/unfinished.h"

namespace dequant::format {

/// What to do where a file exists at the path of an output.
enum class Overwrite { refuse, replace };

/// The folder of a path; "." where the path has none.
std::string folder_of(const std::string& path);

/// True if anything exists at the path, dangling links included.
bool is_taken(const std::string& path);

/// Removes a file, which need not be there. Fails with io.
Status remove_file(const std::string& path);

/// Renames a file within a file system. Fails with io, and with the system's EEXIST where something
/// has the new name and `overwrite` is refuse.
Status move_file(const std::string& from, const std::string& to, Overwrite overwrite);

/// An output file. Until commit() the file has no name or a temporary one, in the directory of its
/// path. commit() flushes it to the disk and gives it its name. Where the object is destroyed
/// before that, the file is removed. A file that replaces another gets the permissions of that
/// file, and its owner and group where the system allows it. All functions fail with io.
class OutputFile {
 public:
  /// Creates a file for `path`. Fails with io when the directory cannot be written to, when the
  /// path is that of something other than a regular file, or when a file exists and `overwrite` is
  /// refuse.
  static Result<OutputFile> create(const std::string& path, Overwrite overwrite);

  /// Fails as create() does, and makes no file.
  static Status check(const std::string& path, Overwrite overwrite);

  /// Fails with io where create() would fail because of the directory or the name, whatever exists
  /// at the path.
  static Status check_folder(const std::string& path);

  /// Creates a file of another name in the directory of `other`, with the same permissions. `other`
  /// must not have its name yet. commit() fails where the new file's name is taken.
  static Result<OutputFile> create_beside(const OutputFile& other, const std::string& name);

  /// An output without a file, whose bytes are written to `memory`: reserve(), start_flush(),
  /// flush() and commit() do nothing, and writing behind its end fails. Not for clear(), rename()
  /// and create_beside().
  static OutputFile in_memory(std::span<std::byte> memory);

  OutputFile(OutputFile&& other) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::string& path() const { return path_; }
  /// True once the file has its name, also where commit() failed after that.
  bool in_place() const { return in_place_; }
  /// Bytes that were written, and bytes that leave() skipped.
  int64_t size() const { return size_; }

  /// Allocates space on the disk, so that a full disk is an error before the work. Fails as
  /// check_room() does, also where nothing can be allocated. Optional.
  Status reserve(int64_t bytes);

  /// Appends bytes.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view bytes) { return write(std::as_bytes(std::span(bytes))); }

  /// Skips the next bytes, which write_at() must write; write() continues behind them. Returns the
  /// offset of the first.
  int64_t leave(int64_t bytes);

  /// Writes bytes that leave() skipped. Any number of threads may call it at once.
  Status write_at(int64_t offset, std::span<const std::byte> bytes);

  /// Call after a write of [begin, end): where that completes a step of the file, starts to flush
  /// the bytes before `end`, so that commit() has few left. Optional, on any thread; write() calls
  /// it.
  void start_flush(int64_t begin, int64_t end);

  /// Sets another name in the same directory, for commit().
  void rename(const std::string& name);

  /// Removes everything that was written.
  Status clear();

  /// Flushes everything that was written to the disk. Optional: commit() does so too.
  Status flush();

  /// Flushes the file to the disk, then gives it its name, and flushes the directory: after that a
  /// crash of the system cannot remove it.
  Status commit();

  /// Flushes both files, then gives both their names, `first` immediately before `second`, which
  /// refers to it. A signal that end_by_signal() handles leaves either both files or none. Returns
  /// false, and gives no name, if the name of `first` is taken.
  static Result<bool> commit_both(OutputFile& first, OutputFile& second);

 private:
  /// Permissions and owners of the file that is replaced.
  struct Access {
    mode_t permissions;
    uid_t owner;
    gid_t group;
  };

  struct Together;

  OutputFile() = default;
  /// Opens the directory and the file, once path and access are set.
  Status open();
  void open_under_temporary_name();
  int open_at(const char* name, int flags) const;
  void give_access();
  Status get_ready();
  Status link_into_place();
  Status sync_directory();

  Descriptor fd_;
  Descriptor directory_;
  std::string path_;
  std::string base_;          ///< last component of the path
  std::string source_;        ///< path by which a file without a name can be linked
  UnfinishedName temporary_;  ///< name in the directory, or empty while the file has none
  std::optional<Access> access_;
  std::optional<std::span<std::byte>> memory_;  ///< of an output without a file
  int64_t size_ = 0;
  Overwrite overwrite_ = Overwrite::refuse;
  bool locked_ = false;
  bool flushed_ = false;
  bool in_place_ = false;
};

}  // namespace dequant::format
