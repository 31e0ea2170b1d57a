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
using testing::quantized_model;
using testing::Scratch;
using testing::succeeds;

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

}  // namespace
}  // namespace dequant::format::onnx
