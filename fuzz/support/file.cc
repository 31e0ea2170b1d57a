// Files in memory.
#include "fuzz/support/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "fuzz/support/check.h"

namespace dequant::fuzz {
namespace {

/// Folders that go when the process does.
struct Folders {
  std::vector<std::string> paths = {};

  ~Folders() {
    std::error_code ignored;
    for (const std::string& path : paths) std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

std::string folder_in_memory() {
  static Folders folders;
  std::string path = "/dev/shm/dequant-fuzz-XXXXXX";
  require(::mkdtemp(path.data()) != nullptr, "no folder in /dev/shm");
  folders.paths.push_back(path);
  return path;
}

InputFile::InputFile(const std::string& name) : folder_(folder_in_memory() + "/") { open(name); }

InputFile::InputFile(const std::string& name, const InputFile& neighbour)
    : folder_(neighbour.folder_) {
  open(name);
}

void InputFile::open(const std::string& name) {
  path_ = folder_ + name;
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  require(fd_ >= 0, "no file in /dev/shm");
}

void InputFile::write(std::span<const uint8_t> bytes) {
  const bool good =
      ::ftruncate(fd_, 0) == 0 && (bytes.empty() || ::pwrite(fd_, bytes.data(), bytes.size(), 0) ==
                                                        static_cast<ssize_t>(bytes.size()));
  require(good, "the input cannot be written to memory");
}

}  // namespace dequant::fuzz
