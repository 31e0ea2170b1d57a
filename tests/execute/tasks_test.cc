// Tasks: each done once, by any number of threads, of any number of chunks.
#include "execute/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "support/calls.h"

namespace dequant::tasks_test {
namespace {

/// Counts how often each task is run.
struct Counted {
  explicit Counted(size_t chunks) : runs(chunks) {}

  static void run(void* self, size_t i) { ++static_cast<Counted*>(self)->runs.at(i); }

  bool ran_once_each() const {
    return std::all_of(runs.begin(), runs.end(), [](int n) { return n == 1; });
  }

  std::vector<int> runs;
};

TEST(Tasks, AreAllFinishedExactlyWhenEachWasCalledFor) {
  for (size_t count = 0; count <= 5; ++count) {
    testing::every_sequence_of_calls(count + 1, [&](const std::vector<size_t>& calls) {
      Counted counted(count);
      Tasks tasks(Counted::run, &counted, count);
      ASSERT_EQ(tasks.count(), count);
      for (const size_t i : calls) Tasks::run(&tasks, i);
      ASSERT_EQ(tasks.finished() == count, testing::runs_every_task(count, calls))
          << ::testing::PrintToString(calls);
      for (size_t i = 0; i < count; ++i) {
        const bool called = std::find(calls.begin(), calls.end(), i) != calls.end();
        ASSERT_EQ(counted.runs[i], called ? 1 : 0) << ::testing::PrintToString(calls);
      }
    });
  }
}

TEST(Tasks, HaveSeveralChunksWhereThereAreMoreThanFlags) {
  constexpr size_t kMost = Tasks::kMost;
  for (const size_t chunks :
       {kMost - 1, kMost, kMost + 1, 2 * kMost, 2 * kMost + 1, 3 * kMost - 1, size_t{1'000'003}}) {
    Counted counted(chunks);
    Tasks tasks(Counted::run, &counted, chunks);
    EXPECT_LE(tasks.count(), kMost) << chunks;
    EXPECT_GT(tasks.count(), std::min(chunks, kMost) / 2) << chunks;
    for (size_t i = tasks.count() + 1; i-- > 0;) Tasks::run(&tasks, i);
    EXPECT_EQ(tasks.finished(), tasks.count()) << chunks;
    EXPECT_TRUE(counted.ran_once_each()) << chunks;
  }
}

TEST(Tasks, OfTheLargestTensorsAreAsFewAsOfOthers) {
  for (const size_t chunks : {size_t{1} << 29, size_t{1} << 45, SIZE_MAX / 2, SIZE_MAX}) {
    const Tasks tasks(Counted::run, nullptr, chunks);
    EXPECT_LE(tasks.count(), Tasks::kMost) << chunks;
    EXPECT_GT(tasks.count(), Tasks::kMost / 2) << chunks;
  }
}

TEST(Tasks, AreDoneOnceByThreadsThatAllCallForAllOfThem) {
  for (int round = 0; round < 50; ++round) {
    Counted counted(1000);
    Tasks tasks(Counted::run, &counted, 1000);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < 1100; ++i) Tasks::run(&tasks, (i + t) % 1100);
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(tasks.finished(), 1000U);
    EXPECT_TRUE(counted.ran_once_each());
  }
}

TEST(Tasks, ThatHaveBegunAreNotFinished) {
  struct Slow {
    std::atomic<bool> begun = false;
    std::atomic<bool> may_end = false;
  } slow;
  Tasks tasks(
      [](void* self, size_t i) {
        auto& s = *static_cast<Slow*>(self);
        if (i != 1) return;
        s.begun = true;
        while (!s.may_end) std::this_thread::yield();
      },
      &slow, 2);
  std::thread thread([&] { Tasks::run(&tasks, 1); });
  while (!slow.begun) std::this_thread::yield();
  Tasks::run(&tasks, 0);
  Tasks::run(&tasks, 1);  // returns at once
  EXPECT_EQ(tasks.finished(), 1U);
  slow.may_end = true;
  thread.join();
  EXPECT_EQ(tasks.finished(), 2U);
}

}  // namespace
}  // namespace dequant::tasks_test
