// The caller's parallel_for: good ones, and ones that fail, throw, skip, repeat or invent tasks.
#include <atomic>
#include <climits>
#include <filesystem>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "c_api/call.h"
#include "support/calls.h"

namespace dequant::testing::c::threads_test {
namespace {

/// What a parallel_for in a test does with (count, task).
using Tasks = std::function<void(size_t)>;
using Behaviour = std::function<int(size_t count, const Tasks& task)>;

int parallel_for(void* self, size_t count, dequant_task task, void* context) {
  return (*static_cast<Behaviour*>(self))(count, [=](size_t i) { task(context, i); });
}

constexpr size_t kChunks = 5;
constexpr size_t kCount = kChunks * 65536;  // 256 KiB of float32 each

struct Ran {
  Outcome outcome;
  std::vector<float> y;

  ::testing::AssertionResult is_complete() const {
    for (size_t i = 0; i < y.size(); ++i) {
      if (y[i] != 3.0F) return ::testing::AssertionFailure() << "element " << i << " is " << y[i];
    }
    return ::testing::AssertionSuccess();
  }
};

/// Runs a tensor of ones, times 3, that way.
Ran run_by(Behaviour behaviour, size_t count = kCount) {
  const auto planned = plan(OnnxNode{.x_dims = {static_cast<int64_t>(count)}});
  Buffers b{.x = Memory(count, 1), .scale = bytes_of<float>({3.0F}), .y = Memory(count * 4)};
  auto options = sized<dequant_options>();
  options.parallel_for = parallel_for;
  options.self = &behaviour;
  const Outcome outcome = run(planned, b.view(), &options);
  return {outcome, numbers_of<float>(b.y)};
}

int in_order(size_t count, const Tasks& task) {
  for (size_t i = 0; i < count; ++i) task(i);
  return 0;
}

TEST(CThreads, OfTheCallerDoAllTasks) {
  size_t seen = 0;
  const Ran ran = run_by([&](size_t count, const Tasks& task) {
    seen = count;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i) threads.emplace_back(task, i);
    for (auto& thread : threads) thread.join();
    return 0;
  });
  EXPECT_TRUE(succeeds(ran.outcome));
  EXPECT_TRUE(ran.is_complete());
  EXPECT_EQ(seen, kChunks);
}

TEST(CThreads, OfTheCallerMayTakeTasksInAnyOrder) {
  const Ran ran = run_by([](size_t count, const Tasks& task) {
    for (size_t i = count; i-- > 0;) task(i);
    return 0;
  });
  EXPECT_TRUE(succeeds(ran.outcome));
  EXPECT_TRUE(ran.is_complete());
}

TEST(CThreads, OfTheCallerAreNotAskedForASmallTensor) {
  int calls = 0;
  const auto counted = [&](size_t count, const Tasks& task) {
    ++calls;
    return in_order(count, task);
  };
  for (const size_t count : {size_t{0}, size_t{1}, kCount / kChunks}) {
    EXPECT_TRUE(succeeds(run_by(counted, count).outcome));
    EXPECT_EQ(calls, 0) << count;
  }
  EXPECT_TRUE(succeeds(run_by(counted, kCount / kChunks + 1).outcome));
  EXPECT_EQ(calls, 1);
}

TEST(Hostile, CallersThreadsThatReturnNonzeroFailTheRun) {
  for (const int code : {1, -1, 7}) {
    for (const size_t done : {size_t{0}, size_t{2}, kChunks}) {
      const Ran ran = run_by([&](size_t, const Tasks& task) {
        for (size_t i = 0; i < done; ++i) task(i);
        return code;
      });
      EXPECT_TRUE(is_invalid(ran.outcome, "parallel_for: returned " + std::to_string(code) +
                                              " after " + std::to_string(done) +
                                              " of 5 tasks; y is incomplete"));
    }
  }
}

TEST(Hostile, CallersThreadsThatThrowFailTheRun) {
  const auto throwing = [](auto thrown) {
    return [=](size_t, const Tasks& task) -> int {
      task(0);
      throw thrown;
    };
  };
  const std::string_view said = "parallel_for: threw an exception after 1 of 5 tasks";
  EXPECT_TRUE(is_invalid(run_by(throwing(std::runtime_error("x"))).outcome, said));
  EXPECT_TRUE(is_invalid(run_by(throwing(std::bad_alloc())).outcome, said));
  EXPECT_TRUE(is_invalid(run_by(throwing(42)).outcome, said));
}

TEST(Hostile, CallersThreadsThatSkipATaskFailTheRun) {
  for (size_t skipped = 0; skipped < kChunks; ++skipped) {
    const Ran ran = run_by([&](size_t count, const Tasks& task) {
      for (size_t i = 0; i < count; ++i) {
        if (i != skipped) task(i);
      }
      return 0;
    });
    EXPECT_TRUE(is_invalid(ran.outcome, "returned 0 after 4 of 5 tasks; y is incomplete"));
  }
}

TEST(Hostile, CallersThreadsThatDoNothingFailTheRun) {
  const Ran ran = run_by([](size_t, const Tasks&) { return 0; });
  EXPECT_TRUE(is_invalid(ran.outcome, "returned 0 after 0 of 5 tasks; y is incomplete"));
  EXPECT_EQ(ran.y, std::vector<float>(kCount)) << "y as it was";
}

TEST(Hostile, CallersThreadsThatRepeatATaskInPlaceOfOthersFailTheRun) {
  const Ran one = run_by([](size_t count, const Tasks& task) {
    for (size_t i = 0; i < count; ++i) task(2);  // 2 is also the mean of all
    return 0;
  });
  EXPECT_TRUE(is_invalid(one.outcome, "returned 0 after 1 of 5 tasks"));
  const Ran two = run_by([](size_t, const Tasks& task) {
    for (const size_t i : {0u, 0u, 3u, 3u, 4u}) task(i);  // as many, and with the sum, of all
    return 0;
  });
  EXPECT_TRUE(is_invalid(two.outcome, "returned 0 after 3 of 5 tasks"));
}

TEST(CThreads, OfTheCallerAreAcceptedExactlyWhenEveryTaskRan) {
  constexpr size_t kChunk = kCount / kChunks;
  for (size_t tasks = 2; tasks <= kChunks; ++tasks) {
    const auto planned = plan(OnnxNode{.x_dims = {static_cast<int64_t>(tasks * kChunk)}});
    Buffers b{.x = Memory(tasks * kChunk, 1),
              .scale = bytes_of<float>({3.0F}),
              .y = Memory(tasks * kChunk * 4)};
    auto options = sized<dequant_options>();
    options.parallel_for = [](void* self, size_t, dequant_task task, void* context) {
      for (const size_t i : *static_cast<const std::vector<size_t>*>(self)) task(context, i);
      return 0;
    };
    every_sequence_of_calls(tasks, [&](const std::vector<size_t>& calls) {
      options.self = const_cast<std::vector<size_t>*>(&calls);
      ASSERT_EQ(bool{succeeds(run(planned, b.view(), &options))}, runs_every_task(tasks, calls))
          << ::testing::PrintToString(calls);
    });
  }
}

TEST(CThreads, ThatRepeatTasksBesideAllOthersDoNoHarm) {
  const Ran ran = run_by([](size_t count, const Tasks& task) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) threads.emplace_back([&] { in_order(count, task); });
    for (auto& thread : threads) thread.join();
    return 0;
  });
  EXPECT_TRUE(succeeds(ran.outcome));
  EXPECT_TRUE(ran.is_complete());
}

TEST(Hostile, CallersThreadsThatInventTasksWriteNothingForThem) {
  const Ran ran = run_by([](size_t count, const Tasks& task) {
    for (const size_t i : {count, count + 1, count * 1000, SIZE_MAX / 2, SIZE_MAX}) task(i);
    return in_order(count, task);
  });
  EXPECT_TRUE(succeeds(ran.outcome));
  EXPECT_TRUE(ran.is_complete());
}

TEST(CThreads, OfTheCallerMayRunPlansThemselves) {
  const Ran outer = run_by([](size_t count, const Tasks& task) {
    const Ran inner = run_by(in_order);
    EXPECT_TRUE(succeeds(inner.outcome));
    EXPECT_TRUE(inner.is_complete());
    return in_order(count, task);
  });
  EXPECT_TRUE(succeeds(outer.outcome));
  EXPECT_TRUE(outer.is_complete());
}

/// Four threads run one plan at once, each with memory of its own.
void share_a_plan(const std::vector<int>& threads_of_a_run) {
  const auto planned = plan(OnnxNode{.x_dims = {100'000}});
  std::atomic<int> good{0};
  const auto work = [&] {
    for (const int count : threads_of_a_run) {
      Buffers b{.x = Memory(100'000, 1), .scale = bytes_of<float>({3.0F}), .y = Memory(400'000)};
      auto options = sized<dequant_options>();
      options.threads = count;
      const bool ran = succeeds(run(planned, b.view(), &options)) &&
                       sizes_of(planned).elements == 100'000 &&
                       *dequant_plan_text(planned.plan.get()) != '\0' &&
                       numbers_of<float>(b.y) == std::vector<float>(100'000, 3.0F);
      good += ran ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 4 * static_cast<int>(threads_of_a_run.size()));
}

// The first is for a thread sanitizer too, which cannot see into the pool of the second.
TEST(Hostile, ThreadsMayShareAPlan) { share_a_plan(std::vector<int>(10, 1)); }

TEST(Hostile, ThreadsMayShareAPlanAndThePool) { share_a_plan({0, 2, 1, 0, 2, 3, 0, 2, 1, 0}); }

size_t threads_of_this_process() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

/// Runs a tensor of kCount ones, times 3, by so many threads.
bool runs_by(const Planned& planned, int threads) {
  Buffers b{.x = Memory(kCount, 1), .scale = bytes_of<float>({3.0F}), .y = Memory(kCount * 4)};
  auto options = sized<dequant_options>();
  options.threads = threads;
  return succeeds(run(planned, b.view(), &options)) &&
         numbers_of<float>(b.y) == std::vector<float>(kCount, 3.0F);
}

TEST(CThreads, OfThePoolAreMadeOnceForAllRunsAndAllCounts) {
  const auto planned = plan(OnnxNode{.x_dims = {int64_t{kCount}}});
  ASSERT_TRUE(runs_by(planned, 0));
  // The pool starts its threads when they are needed, up to one less than there are processors.
  const size_t most = threads_of_this_process() + std::thread::hardware_concurrency();
  for (int i = 0; i < 50; ++i) {
    for (const int threads : {2, 0, 3, INT_MAX}) ASSERT_TRUE(runs_by(planned, threads)) << threads;
    ASSERT_LE(threads_of_this_process(), most) << i;
  }
}

TEST(CThreads, OfThePoolServeSeveralCallersAtOnce) {
  const auto planned = plan(OnnxNode{.x_dims = {int64_t{kCount}}});
  std::atomic<int> good{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < 10; ++i) good += runs_by(planned, (caller + i) % 4) ? 1 : 0;
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(good, 40);
}

}  // namespace
}  // namespace dequant::testing::c::threads_test
