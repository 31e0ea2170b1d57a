// A signal unlinks unfinished names, and interrupts no section of code with an Uninterrupted.
#include "format/io/unfinished.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "format/npy/scratch.h"

namespace dequant::format {
namespace {

using testing::Scratch;
using ::testing::UnorderedElementsAre;

class UnfinishedTest : public ::testing::Test {
 protected:
  /// How a process ends that handles SIGTERM and does this.
  static int end_of(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::signal(SIGTERM, end_by_signal);
      work();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }
  int folder() const { return ::open(scratch_.path().c_str(), O_RDONLY | O_DIRECTORY); }

  Scratch scratch_;
};

TEST_F(UnfinishedTest, NamesGoAndFinishedOnesStay) {
  for (const char* name : {"a", "b", "c", "other"}) scratch_.write(name, "");
  EXPECT_EQ(end_of([&] {
              UnfinishedName a(folder(), "a");
              UnfinishedName b(folder(), "b");
              const UnfinishedName moved(std::move(a));
              UnfinishedName c(folder(), "c");
              c = {};
              std::raise(SIGTERM);
            }),
            -SIGTERM);
  EXPECT_THAT(listing(), UnorderedElementsAre("c", "other"));
}

TEST_F(UnfinishedTest, ASectionEndsBeforeTheProcess) {
  EXPECT_EQ(end_of([&] {
              const Uninterrupted section;
              std::raise(SIGTERM);
              scratch_.write("whole", "");
            }),
            -SIGTERM);
  EXPECT_THAT(listing(), UnorderedElementsAre("whole"));
}

TEST_F(UnfinishedTest, ASectionOfAnotherThreadEndsFirstAndNoneBeginsAfterTheSignal) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(end_of([&] {
                std::atomic<bool> inside = false;
                std::thread other([&] {
                  const Uninterrupted section;
                  inside = true;
                  ::usleep(2000);
                  scratch_.write("whole", "");
                });
                while (!inside) ::usleep(10);
                std::raise(SIGTERM);  // returns, as the section has not ended
                const Uninterrupted late;
                scratch_.write("late", "");
                other.join();
              }),
              -SIGTERM);
    EXPECT_THAT(listing(), UnorderedElementsAre("whole"));
  }
}

TEST_F(UnfinishedTest, ThreadsThatMakeNamesAllTheTimeLeaveNone) {
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(end_of([&] {
                std::vector<std::thread> threads;
                for (int t = 0; t < 4; ++t) {
                  threads.emplace_back([&, t] {
                    const int directory = folder();
                    for (int k = 0;; ++k) {
                      const std::string file = std::to_string(t * 1000000 + k);
                      UnfinishedName name;
                      {
                        const Uninterrupted section;
                        name = UnfinishedName(directory, file);
                        ::close(::openat(directory, file.c_str(), O_CREAT | O_WRONLY, 0600));
                      }
                      const Uninterrupted section;
                      ::unlinkat(directory, file.c_str(), 0);
                      name = {};
                    }
                  });
                }
                ::usleep(1000U + 100U * static_cast<unsigned>(i));
                ::kill(::getpid(), SIGTERM);
                for (std::thread& thread : threads) thread.join();
              }),
              -SIGTERM);
    EXPECT_THAT(listing(), UnorderedElementsAre());
  }
}

TEST_F(UnfinishedTest, MoreNamesThanSlotsAreNoError) {
  const int directory = folder();
  const Uninterrupted section;
  std::vector<UnfinishedName> names;
  for (int i = 0; i < 100; ++i) names.emplace_back(directory, std::to_string(i));
  names.emplace_back(directory, std::string(1000, 'x'));
  EXPECT_STREQ(names[99].c_str(), "99");
}

}  // namespace
}  // namespace dequant::format
