// Executors that do not keep their word: what they left out must not pass for a result.
#include "dequant/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "dequant/plan.h"
#include "support/calls.h"
#include "support/expect_error.h"
#include "support/packed.h"

namespace dequant::executor_test {
namespace {

using testing::Bytes;
using testing::every_sequence_of_calls;
using testing::is_invalid;
using testing::runs_every_task;

/// Runs a tensor of several chunks.
Status run_with(void (*parallel_for)(void*, size_t, Executor::Task, void*)) {
  const Plan plan{.inner = 1 << 20};
  const Bytes x(1 << 20);
  const Bytes scale(4);
  Bytes y(4 << 20);
  return run(plan, {x, scale, {}, y}, {.executor = {parallel_for, nullptr}});
}

TEST(Executor, ThatRunsEveryTaskOnceInAnyOrderSucceeds) {
  EXPECT_TRUE(run_with([](void*, size_t count, Executor::Task task, void* context) {
    while (count-- > 0) task(context, count);
  }));
}

TEST(Executor, ThatRunsNothingIsFoundOut) {
  EXPECT_TRUE(is_invalid(run_with([](void*, size_t, Executor::Task, void*) {}), "incomplete"));
}

TEST(Executor, ThatLeavesOutOneTaskIsFoundOut) {
  EXPECT_TRUE(is_invalid(run_with([](void*, size_t count, Executor::Task task, void* context) {
                           for (size_t i = 0; i + 1 < count; ++i) task(context, i);
                         }),
                         "incomplete"));
}

TEST(Executor, ThatRunsOneTaskTwiceInPlaceOfAnotherIsFoundOut) {
  EXPECT_TRUE(is_invalid(run_with([](void*, size_t count, Executor::Task task, void* context) {
                           for (size_t i = 1; i < count; ++i) task(context, i);
                           task(context, 1);
                         }),
                         "incomplete"));
}

TEST(Executor, ThatRunsTwoTasksTwiceInPlaceOfTwoOthersIsFoundOut) {
  EXPECT_TRUE(is_invalid(run_with([](void*, size_t count, Executor::Task task, void* context) {
                           // As many calls as there are tasks, with the same sum.
                           for (size_t i = 0; i < count; ++i)
                             task(context, i % 4 < 2 ? i / 4 * 4 : i / 4 * 4 + 3);
                         }),
                         "after 8 of 16 tasks; y is incomplete"));
}

TEST(Executor, ThatInventsTasksDoesNoHarm) {
  EXPECT_TRUE(run_with([](void*, size_t count, Executor::Task task, void* context) {
    for (size_t i = 0; i < count + 3; ++i) task(context, i);
    task(context, SIZE_MAX);
  }));
}

/// Calls for tasks in this order, whatever there are.
struct Sequence {
  const std::vector<size_t>& calls;

  Executor executor() {
    return {[](void* self, size_t, Executor::Task task, void* context) {
              for (const size_t i : static_cast<Sequence*>(self)->calls) task(context, i);
            },
            this};
  }
};

TEST(Executor, IsAcceptedExactlyWhenEveryTaskRan) {
  constexpr size_t kChunk = 65'536;  // elements: 256 KiB of float32
  const Bytes x(5 * kChunk, std::byte{1});
  const std::array<float, 1> scale{3.0F};
  std::vector<float> y(5 * kChunk);
  for (size_t tasks = 2; tasks <= 5; ++tasks) {
    const Plan plan{.inner = static_cast<int64_t>(tasks * kChunk)};
    every_sequence_of_calls(tasks, [&](const std::vector<size_t>& calls) {
      for (size_t i = 0; i < tasks; ++i) y[i * kChunk] = y[(i + 1) * kChunk - 1] = 0;
      Sequence sequence{calls};
      const Status status =
          run(plan, {x, std::as_bytes(std::span(scale)), {}, std::as_writable_bytes(std::span(y))},
              {.executor = sequence.executor()});
      ASSERT_EQ(static_cast<bool>(status), runs_every_task(tasks, calls))
          << ::testing::PrintToString(calls);
      for (size_t i = 0; i < tasks; ++i) {
        const float wanted = std::count(calls.begin(), calls.end(), i) > 0 ? 3.0F : 0.0F;
        ASSERT_EQ(y[i * kChunk], wanted) << ::testing::PrintToString(calls);
        ASSERT_EQ(y[(i + 1) * kChunk - 1], wanted) << ::testing::PrintToString(calls);
      }
    });
  }
}

/// `rank` dimensions of blocks of 11 whose last is short: 2^rank regions, one or more chunks each.
Plan short_blocks(int rank) {
  Plan plan{.input = Element::float8e4m3fn, .granularity = Granularity::strided};
  int64_t elements = 1, blocks = 1;
  for (int d = 0; d < rank; ++d, elements *= 21, blocks *= 2) {
    plan.dimensions.insert(
        plan.dimensions.begin(),
        {.size = 21, .x = elements, .scale = blocks, .y = elements, .block = 11});
  }
  return plan;
}

TEST(Executor, IsCalledOnceForAllRegionsOfAStridedPlan) {
  const Plan plan = short_blocks(5);
  const auto count = static_cast<size_t>(element_count(plan));
  Bytes x(count);
  for (size_t i = 0; i < count; ++i) x[i] = static_cast<std::byte>(i % 120);
  std::vector<float> scale(32);
  for (size_t i = 0; i < scale.size(); ++i) scale[i] = 0.25F * static_cast<float>(i + 1);
  const auto run_by = [&](const Executor& executor) {
    Bytes y(4 * count);
    EXPECT_TRUE(run(plan, {x, std::as_bytes(std::span(scale)), {}, y}, {.executor = executor}));
    return y;
  };
  int calls = 0;
  const Bytes y = run_by({[](void* self, size_t tasks, Executor::Task task, void* context) {
                            ++*static_cast<int*>(self);
                            while (tasks-- > 0) task(context, tasks);
                          },
                          &calls});
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(y == run_by(sequential_executor()));
}

TEST(Executor, ThatLeavesOutATaskOfARegionIsFoundOutAndNotCalledAgain) {
  const Plan plan = short_blocks(5);
  const auto count = static_cast<size_t>(element_count(plan));
  const Bytes x(count), scale(4 * 32);
  Bytes y(4 * count);
  int calls = 0;
  const Executor executor{[](void* self, size_t tasks, Executor::Task task, void* context) {
                            ++*static_cast<int*>(self);
                            for (size_t i = 1; i < tasks; ++i) task(context, i);
                          },
                          &calls};
  EXPECT_TRUE(is_invalid(run(plan, {x, scale, {}, y}, {.executor = executor}), "incomplete"));
  EXPECT_EQ(calls, 1);
}

TEST(Executor, GetsAtMost4096TasksHoweverManyChunksThereAre) {
  // Chunks of 2048 columns, one more than there are flags, with a scale for each three.
  constexpr int64_t kColumns = 4096 * 2048 + 1;
  static_assert(kColumns % 3 == 0);
  const Plan plan{.output = Element::float16,
                  .granularity = Granularity::per_axis,
                  .outer = 4,
                  .axis = kColumns / 3,
                  .inner = 3};
  Bytes x(4 * kColumns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::byte>(i * 7);
  const std::vector<float> scale(kColumns / 3, 0.5F);
  const auto run_by = [&](const Executor& executor) {
    Bytes y(8 * kColumns);
    EXPECT_TRUE(run(plan, {x, std::as_bytes(std::span(scale)), {}, y}, {.executor = executor}));
    return y;
  };
  size_t tasks = 0;
  const Bytes y = run_by({[](void* self, size_t count, Executor::Task task, void* context) {
                            *static_cast<size_t*>(self) = count;
                            while (count-- > 0) task(context, count);
                          },
                          &tasks});
  EXPECT_EQ(tasks, 2049U) << "of two chunks each";
  EXPECT_TRUE(y == run_by(sequential_executor()));
}

}  // namespace
}  // namespace dequant::executor_test
