// Model files where the threads and the functions of a caller have another rounding mode.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "dequant/model.h"
#include "files.h"

namespace dequant {
namespace {

using namespace testing;  // of dequant

constexpr size_t kCount = size_t{1} << 20;

/// Floats "w", which QuantizeLinear and DequantizeLinear make to "y": whoever reads the codes of
/// "y" computes them.
std::string model_that_quantizes() {
  const auto node = [](std::string_view type, std::string_view x, std::string_view y) {
    return sub(1, sub(1, x) + sub(1, "s") + sub(2, y) + sub(3, y) + sub(4, type));
  };
  std::vector<float> w;
  for (size_t i = 0; i < kCount; ++i) w.push_back(0.037F * static_cast<float>(i % 977));
  const std::string scale = sub(5, num(2, onnx_code(Element::float32)) + sub(8, "s") +
                                       sub(9, bytes_of(std::vector<float>{0.25F})));
  const std::string graph =
      node("QuantizeLinear", "w", "q") + node("DequantizeLinear", "q", "y") + sub(2, "g") +
      sub(5, tensor_message("w", Element::float32, int64_t{kCount}, bytes_of(w))) + scale +
      sub(12, sub(1, "y"));
  return num(1, 10) + sub(7, graph) + sub(8, num(2, 21));
}

class FloatState : public ::testing::Test {
 protected:
  ~FloatState() override { std::fesetround(FE_TONEAREST); }

  std::vector<float> read(const ReadModelOptions& options) const {
    const Model model = Model::open(path_).value();
    std::vector<float> y(kCount);
    model.read(model.find("y").value(), std::as_writable_bytes(std::span(y)), options).value();
    return y;
  }

  std::string converted(const std::string& name, const ConvertModelOptions& options) const {
    const std::string out = scratch_.path(name);
    convert_model(path_, out, options).value();
    std::ifstream file(out, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const Scratch scratch_;
  const std::string path_ = scratch_.write("a.onnx", model_that_quantizes());
};

/// Runs each task on a thread of its own, which rounds up.
void round_up(void*, size_t count, Executor::Task task, void* context) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([=] {
      std::fesetround(FE_UPWARD);
      task(context, i);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(FloatState, ThreadsOfACallerThatRoundUpChangeNoBit) {
  const auto right = read({.memory = 1 << 20, .executor = sequential_executor()});
  const auto y = read({.memory = 1 << 20, .executor = {&round_up, nullptr}});
  EXPECT_EQ(std::memcmp(y.data(), right.data(), kCount * sizeof(float)), 0);
}

TEST_F(FloatState, AProgressThatRoundsUpChangesNoBit) {
  const std::string right = converted("right.onnx", {});
  ASSERT_FALSE(right.empty());
  int calls = 0;
  std::fesetround(FE_DOWNWARD);
  const auto progress = [&](int64_t, int64_t) -> Status {
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    ++calls;
    std::fesetround(FE_UPWARD);
    return {};
  };
  EXPECT_TRUE(converted("a.onnx.out.onnx", {.progress = progress}) == right);
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  EXPECT_GT(calls, 0);
}

TEST_F(FloatState, ABandThatRoundsUpChangesNoBit) {
  const auto right = read({});
  const Model model = Model::open(path_).value();
  std::vector<float> y(kCount);
  const ModelBand band = [&](int64_t offset, std::span<const std::byte> bytes) -> Status {
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    std::memcpy(reinterpret_cast<char*>(y.data()) + offset, bytes.data(), bytes.size());
    std::fesetround(FE_UPWARD);
    return {};
  };
  model.read(model.find("y").value(), band, {.memory = 1 << 20}).value();
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_EQ(std::memcmp(y.data(), right.data(), kCount * sizeof(float)), 0);
}

}  // namespace
}  // namespace dequant
