// The pool limited to a number of threads, on oneTBB's.
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <thread>
#include <vector>

#include "dequant/executor.h"

namespace dequant {
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

TEST(ThreadPool, TakesNoMoreThreadsForACallThanItsLimit) {
  // More threads than any limit, on a machine of any size.
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 8);
  tbb::task_arena arena(8);
  arena.execute([] {
    Tasks unlimited(64);
    unlimited.by(default_executor());
    EXPECT_TRUE(unlimited.ran_once_each());
    EXPECT_GT(unlimited.most_at_once, 3) << "or the limits below show nothing";
    for (const int limit : {2, 3}) {
      ThreadPool pool(limit);
      Tasks tasks(64);
      tasks.by(pool.executor());
      EXPECT_TRUE(tasks.ran_once_each());
      EXPECT_GE(tasks.most_at_once, 1);
      EXPECT_LE(tasks.most_at_once, limit);
    }
  });
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

TEST(ThreadPool, DoesTheTasksOfAThreadThatIsLate) {
  const tbb::global_control more(tbb::global_control::max_allowed_parallelism, 8);
  tbb::task_arena arena(8);
  struct Late {
    std::atomic<int> others{0};
    bool all_others = false;
  } late;
  arena.execute([&] {
    ThreadPool pool(2);
    const Executor executor = pool.executor();
    executor.parallel_for(
        executor.self, 16,
        [](void* self, size_t i) {
          auto& l = *static_cast<Late*>(self);
          if (i != 0) return static_cast<void>(++l.others);
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (l.others < 15 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
          l.all_others = l.others == 15;
        },
        &late);
  });
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
  // Every caller is in a task of its own at once: none waits for a place that another one holds.
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
}  // namespace dequant
