// Flags: given without a value, or refused.
#include "format/model/options.h"

#include <gtest/gtest.h>

#include <string>

#include "format/checkpoint/options.h"
#include "format/dense/options.h"
#include "format/gguf/layout.h"
#include "format/onnx/options.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using testing::fails;

FormatOptions one(const char* name, const char* value) {
  FormatOptions options;
  options.set(name, value);
  return options;
}

TEST(FormatOptions, AFlagIsSetWithoutAValue) {
  EXPECT_TRUE(one("resume", "").flag("resume").value());
  EXPECT_FALSE(one("resume", "").flag("strip-qdq").value());
  EXPECT_TRUE(onnx::read_options(one("strip-qdq", "")).value().strip_qdq);
  EXPECT_TRUE(checkpoint::read_options(one("keep-unknown", "")).value().keep_unknown);
}

// A flag with any value, "false" too, was on.
TEST(FormatOptions, AFlagWithAValueIsRefusedByEveryFormat) {
  for (const std::string value : {"false", "0", "true", "banana"}) {
    const auto refused = [&](const char* flag, auto&& read) {
      const std::string words = std::string(flag) + " is a flag, which has no value: \"" + value;
      return fails(read(one(flag, value.c_str())), ErrorCode::invalid_argument, words);
    };
    for (const char* flag : {"assume-const", "strip-qdq", "external-data", "no-checksum"}) {
      EXPECT_TRUE(refused(flag, onnx::read_options));
    }
    for (const char* flag : {"keep-unknown", "resume"}) {
      EXPECT_TRUE(refused(flag, checkpoint::read_options));
    }
    EXPECT_TRUE(refused("resume", gguf::read_options));
    EXPECT_TRUE(refused("resume", dense::read_options));
  }
}

}  // namespace
}  // namespace dequant::format
