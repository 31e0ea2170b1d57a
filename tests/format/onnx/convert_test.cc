// Conversion hears from its caller: progress can stop it, and then nothing is written.
#include "format/model/convert.h"

#include <gtest/gtest.h>

#include "format/formats.h"
#include "format/npy/scratch.h"
#include "quantized_model.h"
#include "support/expect_error.h"

namespace dequant::format::onnx {
namespace {

using testing::fails;
using testing::num;
using testing::quantized_model;
using testing::Scratch;
using testing::sub;
using testing::succeeds;
using testing::tensor_message;

constexpr int64_t kSize = 1'000'003;

class ConvertProgressTest : public ::testing::TestWithParam<bool> {
 protected:
  ConvertProgressTest() : in_(scratch_.write("in.onnx", quantized_model(kSize, 3))) {}

  Result<ConvertReport> convert(Progress progress) {
    ConvertOptions options;
    options.open.own.set_if(GetParam(), "external-data");
    options.write.progress = std::move(progress);
    return format::convert(formats(), in_, scratch_.path("out.onnx"), options);
  }

  /// How many files there are besides the input.
  std::ptrdiff_t written() const {
    using Files = std::filesystem::directory_iterator;
    return std::distance(Files(scratch_.path()), Files()) - 1;
  }

  const Scratch scratch_;
  const std::string in_;
};

TEST_P(ConvertProgressTest, GrowsToTheTotalBeforeTheOutputStands) {
  int64_t last = 0;
  int64_t all = 0;
  int early = 0;
  bool stood = false;
  const auto report = convert([&](int64_t done, int64_t total) -> Status {
    if (total == 0) {
      ++early;
      return {};
    }
    EXPECT_GE(done, last);
    EXPECT_LE(done, total);
    last = done;
    all = total;
    stood = stood || std::filesystem::exists(scratch_.path("out.onnx"));
    return {};
  });
  ASSERT_TRUE(succeeds(report));
  EXPECT_EQ(early, 3);  // nodes looked at
  EXPECT_EQ(last, all);
  EXPECT_EQ(all, report->bytes_out + report->data_bytes);
  EXPECT_GT(all, 3 * kSize * 4);
  EXPECT_FALSE(stood);
  EXPECT_EQ(written(), GetParam() ? 2 : 1);
}

TEST_P(ConvertProgressTest, AnErrorStopsTheWorkWhereverItComes) {
  int calls = 0;
  ASSERT_TRUE(succeeds(convert([&](int64_t, int64_t) -> Status {
    ++calls;
    return {};
  })));
  std::filesystem::remove(scratch_.path("out.onnx"));
  std::filesystem::remove(scratch_.path("out.onnx.data"));
  for (const int stop : {0, 2, 3, 4, calls / 2, calls - 2, calls - 1}) {
    int call = 0;
    const auto report = convert([&](int64_t, int64_t) -> Status {
      if (call++ < stop) return {};
      return Error{ErrorCode::limit, "enough"};
    });
    ASSERT_TRUE(fails(report, ErrorCode::limit, "enough")) << stop;
    EXPECT_EQ(report.error().message, "enough") << stop;  // and no more
    EXPECT_EQ(written(), 0) << stop;
  }
}

INSTANTIATE_TEST_SUITE_P(InlineAndExternal, ConvertProgressTest, ::testing::Bool());

/// Conversions from memory to memory.
class ConvertMemoryTest : public ::testing::Test {
 protected:
  Result<ConvertReport> convert(const std::string& model, std::string folder = {}) {
    options_.open.bytes = ModelBytes{{std::as_bytes(std::span(model))}, std::move(folder)};
    options_.write.memory = [&](int64_t bytes) -> Result<std::span<std::byte>> {
      ++calls_;
      out_.resize(static_cast<size_t>(bytes));
      return std::as_writable_bytes(std::span(out_));
    };
    return format::convert(formats(), "<bytes>", "", options_);
  }

  /// What a conversion of the same model from file to file writes.
  std::string by_file(const std::string& model) {
    const std::string in = scratch_.write("in.onnx", model);
    EXPECT_TRUE(succeeds(format::convert(formats(), in, scratch_.path("out.onnx"), {})));
    return scratch_.read("out.onnx");
  }

  const Scratch scratch_;
  ConvertOptions options_;
  std::string out_;
  int calls_ = 0;
};

TEST_F(ConvertMemoryTest, GivesTheBytesOfTheFile) {
  const std::string model = quantized_model(100'003, 3);
  const auto report = convert(model);
  ASSERT_TRUE(succeeds(report));
  EXPECT_EQ(calls_, 1);
  EXPECT_EQ(report->bytes_in, static_cast<int64_t>(model.size()));
  EXPECT_EQ(report->bytes_out, static_cast<int64_t>(out_.size()));
  EXPECT_EQ(out_, by_file(model));
}

TEST_F(ConvertMemoryTest, ADryRunAsksForNoMemory) {
  options_.write.dry_run = true;
  const auto report = convert(quantized_model(1000));
  ASSERT_TRUE(succeeds(report));
  EXPECT_EQ(calls_, 0);
  EXPECT_GT(report->bytes_out, 4000);
}

TEST_F(ConvertMemoryTest, AnErrorOfTheMemoryIsReturned) {
  options_.open.bytes = ModelBytes{};
  const std::string model = quantized_model(1000);
  options_.open.bytes->memory.bytes = std::as_bytes(std::span(model));
  options_.write.memory = [](int64_t) -> Result<std::span<std::byte>> {
    return Error{ErrorCode::out_of_memory, "none left"};
  };
  EXPECT_TRUE(fails(format::convert(formats(), "<bytes>", "", options_), ErrorCode::out_of_memory,
                    "none left"));
}

TEST_F(ConvertMemoryTest, ADataFileIsRefused) {
  options_.open.own.set("external-data");
  EXPECT_TRUE(fails(convert(quantized_model(1000)), ErrorCode::invalid_argument, "no data file"));
  EXPECT_EQ(calls_, 0);
}

TEST_F(ConvertMemoryTest, MoreThanAMessageMayHaveIsRefused) {
  // 512 Mi zeros in a data file without blocks become 2 GiB of floats.
  constexpr int64_t kCodes = int64_t{512} << 20;
  scratch_.write("x", "");
  std::filesystem::resize_file(scratch_.path("x"), kCodes);
  const std::string location = sub(13, sub(1, "location") + sub(2, "x"));
  const std::string x = sub(
      5, num(1, kCodes) + num(2, onnx_code(Element::int8)) + sub(8, "x") + location + num(14, 1));
  const std::string s = sub(5, tensor_message("s", Element::float32, 1, {"\0\0\0\0", 4}));
  const std::string dq =
      sub(1, sub(1, "x") + sub(1, "s") + sub(2, "y") + sub(3, "dq") + sub(4, "DequantizeLinear"));
  const std::string model = num(1, 10) + sub(7, sub(2, "g") + dq + x + s) + sub(8, num(2, 21));
  EXPECT_TRUE(fails(convert(model, scratch_.path()), ErrorCode::unsupported,
                    "<bytes>: the float model has 21474"));
  EXPECT_EQ(calls_, 0);
}

TEST_F(ConvertMemoryTest, FilesOfOtherFormatsAreRefused) {
  const std::string model = std::string("\2\0\0\0\0\0\0\0{}", 10);
  EXPECT_TRUE(fails(convert(model), ErrorCode::unsupported,
                    "<bytes>: checkpoints are converted to files, not in memory"));
}

}  // namespace
}  // namespace dequant::format::onnx
