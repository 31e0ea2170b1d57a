// Reading headers from files in the making.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "bytes.h"
#include "format/npy/scratch.h"
#include "format/safetensors/header.h"
#include "support/expect_error.h"

namespace dequant::format::safetensors {

using testing::fails;
using testing::length_bytes;
using testing::safetensors_entry;
using testing::safetensors_file;
using testing::safetensors_text;
using testing::Scratch;
using testing::succeeds;

class SafetensorsTest : public ::testing::Test {
 protected:
  Result<Header> read(std::string_view bytes) {
    DEQUANT_TRY(const InputFile file, InputFile::open(scratch_.write("a.safetensors", bytes)));
    return Header::read(file);
  }

  Result<Header> read(std::string_view text, std::string_view data) {
    return read(safetensors_file(text, data));
  }

  /// The file is malformed: the message names the file and has the word.
  ::testing::AssertionResult refuses(std::string_view text, std::string_view data,
                                     std::string_view word, ErrorCode code = ErrorCode::malformed) {
    const auto header = read(text, data);
    if (auto named = fails(header, code, "a.safetensors: "); !named) return named;
    return fails(header, code, word);
  }

  static std::vector<std::string> names(const Header& header) {
    std::vector<std::string> out;
    for (const Tensor& tensor : header.tensors()) out.emplace_back(tensor.name);
    return out;
  }

  Scratch scratch_;
};

}  // namespace dequant::format::safetensors
