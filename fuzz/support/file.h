// The fuzz input as a file, for readers that take a path: in memory, and written anew for each
// input.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace dequant::fuzz {

/// The path of a new folder below /dev/shm, which goes when the process does.
std::string folder_in_memory();

class InputFile {
 public:
  /// A file of that name in a folder of its own, as folder_in_memory() makes it.
  explicit InputFile(const std::string& name);
  /// Another one beside it.
  InputFile(const std::string& name, const InputFile& neighbour);

  const std::string& path() const { return path_; }
  /// The folder; ends with a slash.
  const std::string& folder() const { return folder_; }

  void write(std::span<const uint8_t> bytes);

 private:
  void open(const std::string& name);

  std::string folder_;
  std::string path_;
  int fd_ = -1;
};

}  // namespace dequant::fuzz
