// The pool: threads of its own, limited for each call.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <thread>
#include <vector>

#include "dequant/executor.h"
#include "execute/pool.h"

namespace dequant::thread_pool_test {
namespace {

/// Tasks that take a while, counted.
struct Tasks {
  explicit Tasks(size_t count) : runs(count) {}

  std::vector<std::atomic<int>> runs;  ///< of each task
  std::atomic<int> running{0};
  std::atomic<int> most_at_once{0};

  /// Runs them all.
  void by(const Executor& executor) {
    executor.parallel_for(executor.self, runs.size(), run, this);
  }

  static void run(void* self, size_t i) {
    auto& tasks = *static_cast<Tasks*>(self);
    const int now = ++tasks.running;
    for (int most = tasks.most_at_once; most < now;) {
      if (tasks.most_at_once.compare_exchange_weak(most, now)) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++tasks.runs[i];
    --tasks.running;
  }

  bool ran_once_each() const {
    return std::all_of(runs.begin(), runs.end(), [](const auto& r) { return r == 1; });
  }
};

/// Of more threads than any limit, on a machine of any size.
constinit Pool large_pool;

TEST(Pool, TakesNoMoreThreadsForACallThanItsLimit) {
  Tasks unlimited(64);
  large_pool.run(64, Tasks::run, &unlimited, 8);
  EXPECT_TRUE(unlimited.ran_once_each());
  EXPECT_GT(unlimited.most_at_once, 3) << "or the limits below show nothing";
  for (const size_t limit : {size_t{1}, size_t{2}, size_t{3}}) {
    Tasks tasks(64);
    large_pool.run(64, Tasks::run, &tasks, limit);
    EXPECT_TRUE(tasks.ran_once_each());
    EXPECT_GE(tasks.most_at_once, 1);
    EXPECT_LE(tasks.most_at_once, static_cast<int>(limit));
  }
}

TEST(Pool, RunsEveryTaskOnceWhateverItsThreads) {
  for (const size_t threads : {0u, 1u, 2u, 8u, 63u, 64u, 65u, 100u}) {
    for (const size_t count : {0u, 1u, 2u, 3u, 64u, 65u, 200u}) {
      Tasks tasks(count);
      large_pool.run(count, Tasks::run, &tasks, threads);
      EXPECT_TRUE(tasks.ran_once_each()) << count << " by " << threads;
    }
  }
}

TEST(Pool, ServesCallersAtOnceAndTasksThatCallIt) {
  struct Nested {
    std::atomic<int> runs{0};

    static void run(void* self, size_t) {
      large_pool.run(
          16, [](void* inner, size_t) { ++static_cast<Nested*>(inner)->runs; }, self, 8);
    }
  } nested;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) large_pool.run(16, Nested::run, &nested, 8);
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(nested.runs, 4 * 100 * 16 * 16);
}

TEST(ThreadPool, RunsEveryTaskOnceWhateverItsLimit) {
  for (const int limit : {-1, 0, 2, 3, 64, 65, INT_MAX}) {
    ThreadPool pool(limit);
    for (const size_t count : {0u, 1u, 2u, 3u, 64u}) {
      Tasks tasks(count);
      tasks.by(pool.executor());
      EXPECT_TRUE(tasks.ran_once_each()) << count << " by " << limit;
    }
  }
}

TEST(Pool, DoesTheTasksOfAThreadThatIsLate) {
  struct Late {
    std::atomic<int> others{0};
    bool all_others = false;
  } late;
  large_pool.run(
      16,
      [](void* self, size_t i) {
        auto& l = *static_cast<Late*>(self);
        if (i != 0) return static_cast<void>(++l.others);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (l.others < 15 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        l.all_others = l.others == 15;
      },
      &late, 2);
  EXPECT_TRUE(late.all_others);
}

TEST(ThreadPool, OfOneThreadIsTheCallers) {
  EXPECT_EQ(ThreadPool(1).executor().parallel_for, nullptr);
}

TEST(ThreadPool, LimitsEachOfSeveralCallersByItself) {
  ThreadPool pool(2);
  struct Meeting {
    std::atomic<int> inside{0};
    std::atomic<bool> met{false};
  } meeting;
  std::vector<std::thread> callers;
  // Every caller is in a task of its own at once: no caller waits for a slot that another caller
  // holds.
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([&] {
      const Executor executor = pool.executor();
      executor.parallel_for(
          executor.self, 1,
          [](void* self, size_t) {
            auto& m = *static_cast<Meeting*>(self);
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            if (++m.inside == 6) m.met = true;
            while (!m.met && std::chrono::steady_clock::now() < end) std::this_thread::yield();
          },
          &meeting);
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_TRUE(meeting.met);
}

}  // namespace
}  // namespace dequant::thread_pool_test
