// Files whose bytes are fetched when they are read.
#include "format/io/fetched.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <mutex>
#include <thread>
#include <vector>

#include "format/io/file.h"
#include "format/io/range_text.h"
#include "format/npy/scratch.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using testing::range_text;
using testing::Scratch;
using testing::succeeds;

/// Writes digits where bytes are asked for, in blocks of 4 bytes.
class Digits {
 public:
  Result<Range> fetch(const std::string& path, Range bytes) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(bytes);
    const Range block{bytes.begin / 4 * 4, (bytes.end + 3) / 4 * 4};
    const Descriptor fd(::open(path.c_str(), O_WRONLY));
    for (int64_t i = block.begin; i < block.end; ++i) {
      const char digit = static_cast<char>('0' + i % 10);
      if (::pwrite(fd.get(), &digit, 1, i) != 1) return Error{ErrorCode::io, "no byte written"};
    }
    return block;
  }

  const std::vector<Range>& asked() const { return asked_; }

 private:
  std::mutex mutex_;
  std::vector<Range> asked_;
};

TEST(FetchedFolderTest, BytesAreFetchedOnceAndBeforeTheyAreRead) {
  const Scratch scratch;
  const std::string path = scratch.write("f", std::string(20, '\0'));
  Digits digits;
  const FetchedFolder folder(path.substr(0, path.rfind('/')), [&](const auto& name, Range bytes) {
    return digits.fetch(name, bytes);
  });
  const auto file = InputFile::open(path).value();
  EXPECT_EQ(range_text(file, 5, 2), "56");
  EXPECT_EQ(range_text(file, 4, 4), "4567");  // fetched with the first
  EXPECT_EQ(range_text(file, 12, 8), "23456789");
  EXPECT_EQ(range_text(file, 4, 16), "4567890123456789");
  EXPECT_EQ(range_text(file, 9, 9), "901234567");
  ASSERT_EQ(digits.asked().size(), 3U);
  EXPECT_EQ(digits.asked()[2].begin, 4);
  EXPECT_TRUE(succeeds(file.check_unchanged()));  // fetching is no change
}

TEST(FetchedFolderTest, OtherFilesAreReadAsTheyAre) {
  const Scratch scratch;
  const Scratch other;
  const std::string path = scratch.write("f", "abcd");
  Digits digits;
  {
    const std::string near = other.write("f", "0123");
    const FetchedFolder folder(near.substr(0, near.rfind('/')), [&](const auto& name, Range bytes) {
      return digits.fetch(name, bytes);
    });
    EXPECT_EQ(range_text(InputFile::open(path).value(), 0, 4), "abcd");
    EXPECT_FALSE(is_fetched(path));
    EXPECT_TRUE(is_fetched(near));
  }
  EXPECT_TRUE(digits.asked().empty());
  EXPECT_FALSE(is_fetched(other.write("g", "")));  // the object is gone
}

TEST(FetchedFolderTest, AnErrorOfFetchingIsAnErrorOfReading) {
  const Scratch scratch;
  const std::string path = scratch.write("f", std::string(20, '\0'));
  const std::string folder_path = path.substr(0, path.rfind('/'));
  const auto file = InputFile::open(path).value();
  {
    const FetchedFolder folder(folder_path, [](const auto&, Range) -> Result<Range> {
      return Error{ErrorCode::io, "the network is gone"};
    });
    EXPECT_EQ(range_text(file, 0, 4), "the network is gone");
  }
  const FetchedFolder folder(folder_path, [](const auto&, Range bytes) -> Result<Range> {
    return Range{bytes.begin, bytes.end - 1};
  });
  EXPECT_NE(range_text(file, 0, 4).find("bytes 0 to 3 were fetched, not 0 to 4"),
            std::string::npos);
}

TEST(FetchedFolderTest, ThreadsReadAtOnce) {
  const Scratch scratch;
  const std::string path = scratch.write("f", std::string(4000, '\0'));
  Digits digits;
  const FetchedFolder folder(path.substr(0, path.rfind('/')), [&](const auto& name, Range bytes) {
    return digits.fetch(name, bytes);
  });
  const auto file = InputFile::open(path).value();
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int64_t at = 0; at < 3990; at += 10)
        wrong[t] += range_text(file, at, 10) != "0123456789";
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
}  // namespace dequant::format
