// A process that forks: its child has none of the pool's threads, and all of its locks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "dequant/executor.h"

namespace dequant {
namespace {

void spin(void* counter, size_t) {
  for (int i = 0; i < 1000; ++i) static_cast<std::atomic<int>*>(counter)->fetch_add(1);
}

/// What a child does: ends with 0 if all tasks ran, or by a signal if it hangs.
[[noreturn]] void run_as_child() {
  alarm(20);
  std::atomic<int> counter = 0;
  const Executor pool = default_executor();
  pool.parallel_for(pool.self, 64, spin, &counter);
  _exit(counter == 64 * 1000 ? 0 : 1);
}

TEST(Fork, WhileThreadsAreInThePoolLeavesTheChildAble) {
  std::atomic<bool> done = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&done] {
      std::atomic<int> counter = 0;
      const Executor pool = default_executor();
      while (!done) pool.parallel_for(pool.self, 64, spin, &counter);
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) run_as_child();
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "round " << i;
  }
  done = true;
  for (std::thread& thread : busy) thread.join();
}

}  // namespace
}  // namespace dequant
