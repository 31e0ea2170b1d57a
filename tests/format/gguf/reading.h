// Reading headers from files in the making.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "bytes.h"
#include "format/gguf/header.h"
#include "format/npy/scratch.h"
#include "support/expect_error.h"

namespace dequant::format::gguf {

using namespace testing;  // of dequant

class GgufTest : public ::testing::Test {
 protected:
  Result<Header> read(std::string_view bytes) { return read_file(write(bytes)); }

  /// The first bytes are those given, and the others are zeros that take no space on the disk.
  Result<Header> read_sparse(std::string_view bytes, uint64_t size) {
    const std::string path = write(bytes);
    std::filesystem::resize_file(path, size);
    return read_file(path);
  }

  /// The file is refused with that code; the message names the file and has the words.
  ::testing::AssertionResult refuses(std::string_view bytes, std::string_view words,
                                     ErrorCode code = ErrorCode::malformed) {
    const auto header = read(bytes);
    if (header) return ::testing::AssertionFailure() << "is read";
    const Error& error = header.error();
    if (error.code == code && error.message.find(words) != std::string::npos &&
        error.message.find("a.gguf") != std::string::npos)
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << error.message;
  }

  const GgufBytes b_{};

 private:
  std::string write(std::string_view bytes) { return scratch_.write("a.gguf", bytes); }
  static Result<Header> read_file(const std::string& path) {
    DEQUANT_TRY(const InputFile file, InputFile::open(path));
    return Header::read(file);
  }

  Scratch scratch_;
};

}  // namespace dequant::format::gguf
