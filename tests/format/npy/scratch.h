// A directory for the files of one test, gone after it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace dequant::testing {

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "dequant-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot create " << name;
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(const std::string& name = {}) const {
    return name.empty() ? path_ : path_ + '/' + name;
  }

  /// Writes a file, with the directories above it, and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string where = path(name);
    std::filesystem::create_directories(std::filesystem::path(where).parent_path());
    std::ofstream(where, std::ios::binary) << bytes;
    return where;
  }

  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
};

}  // namespace dequant::testing
