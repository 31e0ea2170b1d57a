// The folder of a converted checkpoint where the conversion does not end.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "dequant/model.h"
#include "files.h"

namespace dequant {
namespace {

using namespace testing;  // of dequant

/// A file of safetensors with the float8 matrix "NAME.weight" of four codes, and its scale.
std::string float8_file(const std::string& name) {
  const std::string header =
      R"({")" + name + R"(.weight":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]},")" +
      name + R"(.weight_scale":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  return bytes_of(std::vector<uint64_t>{header.size()}) + header + "\x38\x40\x48\x50" +
         bytes_of(std::vector<float>{0.5F});
}

class OutputFolder : public ::testing::Test {
 protected:
  OutputFolder() {
    scratch_.write("in/config.json", R"({"quantization_config": {"quant_method": "fp8"}})");
    scratch_.write("in/model-00001-of-00002.safetensors", float8_file("a"));
    scratch_.write("in/model-00002-of-00002.safetensors", float8_file("b"));
  }

  const Scratch scratch_;
  const std::string in_ = scratch_.path("in");
  const std::string out_ = scratch_.path("out");
};

TEST_F(OutputFolder, IsGoneWhereMemoryRunsOutInTheFirstFile) {
  const auto progress = [](int64_t, int64_t) -> Status { throw std::bad_alloc(); };
  EXPECT_THROW((void)convert_model(in_, out_, {.progress = progress}), std::bad_alloc);
  EXPECT_FALSE(std::filesystem::exists(out_));
  const auto done = convert_model(in_, out_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->converted, 2u);
}

TEST_F(OutputFolder, IsNotLockedByAProcessThatWasForkedMeanwhile) {
  std::filesystem::create_directory(out_);  // a folder that was there stays, and so may its lock
  pid_t child = 0;
  const auto progress = [&child](int64_t, int64_t) -> Status {
    if (child == 0) child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    return Error{ErrorCode::limit, "enough"};
  };
  EXPECT_FALSE(convert_model(in_, out_, {.progress = progress}));
  ASSERT_GT(child, 0);
  const auto done = convert_model(in_, out_);
  EXPECT_TRUE(done) << done.error().message;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace dequant
