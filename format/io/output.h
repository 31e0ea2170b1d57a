// Writing files so that they appear whole or not at all.
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

enum class Overwrite { refuse, replace };

/// The folder of a path, as it may be opened.
std::string folder_of(const std::string& path);

/// True if anything stands at the path, be it a link that leads nowhere.
bool is_taken(const std::string& path);

/// A file in the making: written without a name, or under a temporary one, in the directory where
/// it will stand; commit() makes it durable and gives it its name. Destroyed before that, nothing
/// stays. A file that replaces another has the permissions of that one, and its owner and group as
/// far as the system allows.
class OutputFile {
 public:
  /// Fails with io when the directory cannot be written to, when something that is no regular file
  /// stands at the path, or when a file does and `overwrite` says refuse.
  static Result<OutputFile> create(const std::string& path, Overwrite overwrite);

  /// Fails with io where create() would because of the directory or the name, whatever stands at
  /// the path.
  static Status check_folder(const std::string& path);

  /// A file that will stand beside another one that is not in place yet, with the same permissions,
  /// under a name that must be free by then.
  static Result<OutputFile> create_beside(const OutputFile& other, const std::string& name);

  OutputFile(OutputFile&& other) noexcept = default;
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

  /// Starts to bring to the disk what lies before `end`, if a write from `begin` to there has
  /// filled another step, so that little is left for commit(). Optional, from any thread; write()
  /// does it.
  void start_flush(int64_t begin, int64_t end);

  /// Another name in the same directory.
  void rename(const std::string& name);

  /// Takes back all that was written.
  Status clear();

  /// Brings all that was written to the disk. Optional: commit() does it.
  Status flush();

  /// Flushes to the disk, then gives the file its name. After this it is there whatever happens.
  Status commit();

  /// Flushes both files, then gives both their names, `first` immediately before `second`, which
  /// needs it: a signal that end_by_signal() handles finds either none of them or both. False, with
  /// no name given, if the name of `first` is taken.
  static Result<bool> commit_both(OutputFile& first, OutputFile& second);

 private:
  /// Of a file that is replaced.
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
  int64_t size_ = 0;
  Overwrite overwrite_ = Overwrite::refuse;
  bool locked_ = false;
  bool flushed_ = false;
  bool in_place_ = false;
};

}  // namespace dequant::format
