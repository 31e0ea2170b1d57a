// Tensors of several chunks: every granularity, chunk borders within groups, both kinds of stores,
// any number of threads and any order of the chunks.
#include <gtest/gtest.h>

#include <climits>

#include "support/example.h"

namespace dequant::large_test {
namespace {

using testing::Bytes;
using testing::Example;
using testing::expected;
using testing::Granular;
using testing::Random;
using testing::random_example;
using testing::run_example;
using testing::same_output;
using testing::Types;
using enum Element;

/// Each of more than 256 KiB of float32 output: two chunks or more.
const std::vector<Granular>& large_shapes() {
  static const std::vector<Granular> list{
      {.x = {200'001}, .scale = {}},
      {.x = {3, 50'001}, .scale = {3}, .axis = 0},
      {.x = {300, 500}, .scale = {500}, .axis = 1},
      {.x = {50'000, 3}, .scale = {3}, .axis = 1},
      {.x = {7, 9, 2'001}, .scale = {9}, .axis = 1},
      {.x = {75'000, 2}, .scale = {75'000}, .axis = 0},
      {.x = {150'001}, .scale = {150'001}, .axis = 0},
      {.x = {40, 3'001}, .scale = {40, 188}, .axis = 1, .block = 16},
      {.x = {33, 4'096}, .scale = {33, 128}, .axis = 1, .block = 32},
      {.x = {33, 4'097}, .scale = {33, 125}, .axis = 1, .block = 33},
      {.x = {33, 4'096}, .scale = {33, 4}, .axis = 1, .block = 1'025},
      {.x = {150'001}, .scale = {50'001}, .axis = 0, .block = 3},
      {.x = {150'001}, .scale = {16}, .axis = 0, .block = 9'999},
      {.x = {100, 1'500}, .scale = {4, 1'500}, .axis = 0, .block = 32},
      {.x = {2, 65, 1'033}, .scale = {2, 5, 1'033}, .axis = 1, .block = 16},
      {.x = {10'000, 5, 3}, .scale = {10'000, 2, 3}, .axis = 1, .block = 4},
      {.x = {17, 2'804, 3}, .scale = {2'804}, .axis = 1},
      {.x = {5, 2'820, 15}, .scale = {2'820}, .axis = 1},
  };
  return list;
}

/// Runs the tasks last to first.
Executor backwards() {
  return {[](void*, std::size_t count, Executor::Task task, void* context) {
            for (std::size_t i = count; i-- > 0;) task(context, i);
          },
          nullptr};
}

class Large : public ::testing::TestWithParam<Element> {};

TEST_P(Large, TensorHasTheSpecifiedBitsInEveryGranularity) {
  Random random(6);
  for (const Granular& shapes : large_shapes()) {
    const Element y = random.coin() ? float32 : float16;
    const Example e = random_example(random, shapes, {.x = GetParam(), .y = y});
    EXPECT_TRUE(same_output(e, run_example(e), expected(e)));
  }
}

std::vector<Element> inputs() {
  std::vector<Element> list;
  for (const Element e : elements()) {
    if (is_input(e)) list.push_back(e);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Inputs, Large, ::testing::ValuesIn(inputs()),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST(Executors, AllGiveTheSameBytes) {
  Random random(7);
  for (const Granular& shapes : large_shapes()) {
    const Example e = random_example(random, shapes, testing::random_types(random));
    const Bytes want = run_example(e, {.executor = sequential_executor()});
    EXPECT_TRUE(same_output(e, run_example(e), want)) << "default";
    EXPECT_TRUE(same_output(e, run_example(e, {.executor = default_executor()}), want));
    EXPECT_TRUE(same_output(e, run_example(e, {.executor = backwards()}), want)) << "backwards";
    for (const int threads : {0, 1, 2, 3, 4, -1, INT_MAX}) {
      ThreadPool pool(threads);
      EXPECT_TRUE(same_output(e, run_example(e, {.executor = pool.executor()}), want)) << threads;
    }
  }
}

TEST(Executors, CoverEveryChunkOnce) {
  Random random(8);
  const Example e = random_example(random, large_shapes()[0], {});
  std::vector<std::size_t> counts;
  const Executor recording{[](void* self, std::size_t count, Executor::Task task, void* context) {
                             static_cast<std::vector<std::size_t>*>(self)->push_back(count);
                             for (std::size_t i = 0; i < count; ++i) task(context, i);
                           },
                           &counts};
  EXPECT_TRUE(same_output(e, run_example(e, {.executor = recording}), expected(e)));
  EXPECT_EQ(counts, std::vector<std::size_t>{4}) << "800,004 bytes by chunks of 256 KiB";
}

TEST(Executors, AreNotTroubledForOneChunk) {
  Random random(9);
  const Executor never{[](void*, std::size_t, Executor::Task, void*) { ADD_FAILURE() << "called"; },
                       nullptr};
  for (const int64_t n : {0, 1, 65'536}) {
    const Example e = random_example(random, {.x = {n}, .scale = {}}, {});
    EXPECT_TRUE(same_output(e, run_example(e, {.executor = never}), expected(e)));
  }
}

TEST(Executors, DefaultCanBeUsedFromManyThreadsAtOnce) {
  Random random(10);
  const Example e = random_example(random, large_shapes()[8], {.x = int4, .y = float16});
  const Bytes want = expected(e);
  std::vector<Bytes> outputs(8);
  ThreadPool pool(4);
  struct Shared {
    const Example& example;
    std::vector<Bytes>& outputs;
  } shared{e, outputs};
  const Executor executor = pool.executor();
  executor.parallel_for(
      executor.self, outputs.size(),
      [](void* context, std::size_t i) {
        const auto& s = *static_cast<Shared*>(context);
        s.outputs[i] = run_example(s.example);
      },
      &shared);
  for (const Bytes& y : outputs) EXPECT_TRUE(same_output(e, y, want));
}

TEST(StoresOption, NeverChangesTheBits) {
  Random random(11);
  for (const Granular& shapes : large_shapes()) {
    for (const Element y : {float32, float16, bfloat16}) {
      Types types = testing::random_types(random);
      types.y = y;
      const Example e = random_example(random, shapes, types);
      const Bytes want = run_example(e, {.stores = Stores::cached});
      EXPECT_TRUE(same_output(e, run_example(e, {.stores = Stores::streaming}), want));
      EXPECT_TRUE(same_output(e, run_example(e, {.stores = Stores::automatic}), want));
    }
  }
}

}  // namespace
}  // namespace dequant::large_test
