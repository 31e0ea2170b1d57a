// A process that forks: its child has none of the pool's threads, and all of its locks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "dequant/executor.h"

namespace dequant::fork_test {
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

/// Threads that call the pool until they are told to stop.
class Busy {
 public:
  explicit Busy(int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        std::atomic<int> counter = 0;
        const Executor pool = default_executor();
        while (!done_) pool.parallel_for(pool.self, 64, spin, &counter);
      });
    }
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::vector<std::thread> threads_;
};

/// How a child that works ends: 0 if it did all of it.
int status_of_a_working_child() {
  const pid_t child = fork();
  if (child == 0) run_as_child();
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

TEST(Fork, WhileThreadsAreInThePoolLeavesTheChildAble) {
  const Executor pool = default_executor();
  std::atomic<int> counter = 0;
  pool.parallel_for(pool.self, 64, spin, &counter);
  const Busy busy(3);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status_of_a_working_child(), 0) << "round " << i;
}

/// Each round in a process of its own, which has not used the pool if this one has not.
TEST(Fork, WhileThreadsCallThePoolForTheFirstTimeLeavesTheChildAble) {
  for (int i = 0; i < 200; ++i) {
    const pid_t process = fork();
    if (process == 0) {
      const Busy busy(3);
      for (volatile int pause = 0; pause < i * 1000;) pause = pause + 1;
      _exit(status_of_a_working_child() == 0 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    ASSERT_EQ(status, 0) << "round " << i;
  }
}

}  // namespace
}  // namespace dequant::fork_test
