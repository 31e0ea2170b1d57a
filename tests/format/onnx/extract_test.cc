// Tensors of a model in memory: the right one, on any thread, and none of a file that has changed.
#include "format/model/extract.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

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

/// Larger than a chunk, and no multiple of a chunk.
constexpr int64_t kElements = 1'000'003;

std::vector<float> halves(int64_t size) {
  std::vector<float> out;
  for (int64_t i = 0; i < size; ++i) out.push_back(static_cast<float>(i % 100) / 2);
  return out;
}

Result<std::unique_ptr<Extractor>> open_extractor(const std::string& path) {
  DEQUANT_TRY(auto file, open_model(formats(), path, {}));
  return Extractor::open(std::move(file));
}

class ExtractorReadTest : public ::testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Extractor> open(int64_t size, int nodes = 1) {
    return open_extractor(scratch_.write("m.onnx", quantized_model(size, nodes, GetParam())))
        .value();
  }

  Scratch scratch_;
};

Result<std::vector<float>> read(Extractor& extractor, size_t index, int64_t size,
                                const Executor& executor = default_executor()) {
  std::vector<float> y(static_cast<size_t>(size), -1);
  DEQUANT_CHECK(extractor.read(extractor.tensors()[index], {.executor = executor},
                               std::as_writable_bytes(std::span(y))));
  return y;
}

TEST_P(ExtractorReadTest, ComputesTheWholeOutputOnOneThreadAndOnAll) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{7}, kElements, 5 * kElements}) {
    const auto extractor = open(size);
    EXPECT_TRUE(read(*extractor, 0, size).value() == halves(size)) << size;
    EXPECT_TRUE(read(*extractor, 0, size, sequential_executor()).value() == halves(size)) << size;
  }
}

TEST_P(ExtractorReadTest, AnotherOutputIsRoundedOnceToThat) {
  const auto extractor = open(100);
  DenseTensor d = extractor->tensors()[0];
  d.recipe->plan.output = Element::bfloat16;
  std::vector<uint16_t> y(100);
  ASSERT_TRUE(succeeds(extractor->read(d, {}, std::as_writable_bytes(std::span(y)))));
  for (uint32_t i = 0; i < 100; ++i) {
    const uint32_t wide = uint32_t{y[i]} << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    EXPECT_EQ(value, static_cast<float>(i) / 2);  // of 7 bits: exact
  }
}

TEST_P(ExtractorReadTest, ManyThreadsReadAtOnce) {
  const auto extractor = open(kElements, 4);
  const std::vector<float> expected = halves(kElements);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const auto y =
          read(*extractor, t % 4, kElements, t % 2 == 0 ? default_executor() : Executor{});
      std::vector<std::byte> codes(kElements);
      const auto status =
          format::read(extractor->file(), extractor->tensors()[t % 4].stored, codes);
      if (y && *y == expected && status && codes[5] == std::byte{5}) ++right;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 8);
}

TEST_P(ExtractorReadTest, RefusesAFileThatHasChanged) {
  const auto extractor = open(kElements);
  std::filesystem::resize_file(scratch_.path("m.onnx"), 100);
  EXPECT_TRUE(fails(read(*extractor, 0, kElements), ErrorCode::malformed, "m.onnx"));
  scratch_.write("m.onnx", quantized_model(kElements + 1, 1, GetParam()));
  EXPECT_TRUE(
      fails(read(*extractor, 0, kElements), ErrorCode::malformed, "changed while being read"));
}

INSTANTIATE_TEST_SUITE_P(RawAndTyped, ExtractorReadTest, ::testing::Bool());

TEST(ExtractorIndexTest, OutputNodeAndXNameATensor) {
  const Scratch scratch;
  const auto one = open_extractor(scratch.write("1.onnx", quantized_model(3))).value();
  for (const char* name : {"y0", "dq0", "x"}) EXPECT_EQ(one->index_of(name).value(), 0U);
  const auto two = open_extractor(scratch.write("2.onnx", quantized_model(3, 2))).value();
  EXPECT_EQ(two->index_of("dq1").value(), 1U);
  EXPECT_TRUE(fails(two->index_of("x"), ErrorCode::invalid_argument,
                    "several tensors have that name: the outputs y0, y1"));
  EXPECT_TRUE(fails(two->index_of("s"), ErrorCode::invalid_argument, "a constant that no"));
  EXPECT_TRUE(fails(two->index_of("t"), ErrorCode::invalid_argument, "2.onnx has no constant"));
}

TEST(ExtractorIndexTest, ManyNodesAreFoundWithoutLookingAtAll) {
  constexpr int kNodes = 50'000;
  const Scratch scratch;
  const auto extractor =
      open_extractor(scratch.write("m.onnx", quantized_model(3, kNodes))).value();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kNodes; ++i) {
    const auto index = static_cast<size_t>(i);
    ASSERT_EQ(extractor->index_of("y" + std::to_string(i)).value(), index);
    ASSERT_EQ(extractor->index_of("dq" + std::to_string(i)).value(), index);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(ExtractorIndexTest, AnEmptyNameNamesNothing) {
  using testing::sub;
  const Scratch scratch;
  const std::string bytes = quantized_model(3);
  std::string nameless = bytes;
  nameless.replace(nameless.find(sub(3, "dq0")), 5, sub(6, "dq0"));  // no node name
  const auto extractor = open_extractor(scratch.write("m.onnx", nameless)).value();
  EXPECT_EQ(extractor->index_of("y0").value(), 0U);
  EXPECT_TRUE(fails(extractor->index_of(""), ErrorCode::invalid_argument, "no constant"));
}

TEST(ExtractorIndexTest, SaysWhyANodeIsNoTensor) {
  using testing::sub;
  const Scratch scratch;
  const std::string node = sub(
      1, sub(1, "in") + sub(1, "in") + sub(2, "out") + sub(3, "node") + sub(4, "DequantizeLinear"));
  const std::string bytes =
      testing::num(1, 10) + sub(7, node + sub(11, sub(1, "in"))) + sub(8, testing::num(2, 21));
  const auto extractor = open_extractor(scratch.write("m.onnx", bytes)).value();
  for (const char* name : {"in", "out", "node"}) {
    EXPECT_TRUE(fails(extractor->index_of(name), ErrorCode::invalid_argument,
                      "it stays quantized: in is an input of the graph"));
  }
}

}  // namespace
}  // namespace dequant::format::onnx
