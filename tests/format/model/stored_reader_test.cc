// Reading all bytes of a stored tensor on several threads.
#include "format/model/stored_reader.h"

#include <gtest/gtest.h>

#include "format/io/errors.h"

namespace dequant::format {
namespace {

using enum Element;

/// Bytes of which byte `bad` cannot be read.
class BadReader : public StoredReader {
 public:
  BadReader(int64_t count, int64_t bad) : StoredReader(uint8, count), bad_(bad) {}

  bool seekable() const override { return true; }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    if (elements.begin <= bad_ && bad_ < elements.end)
      return Error{ErrorCode::io, "byte " + std::to_string(bad_)};
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<std::byte>((static_cast<size_t>(elements.begin) + i) % 251);
    return {};
  }
  Status finish() override { return {}; }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "memory"; }

  const int64_t bad_;
};

TEST(StoredReader, ReadsAllBytesOnThreadsAndSaysWhichItCannot) {
  constexpr int64_t kCount = (int64_t{5} << 20) + 77;
  static ThreadPool pool(3);
  // An executor that leaves out tasks: the calling thread reads their parts.
  const Executor lazy{[](void*, size_t, Executor::Task, void*) {}, nullptr};
  for (const Executor& executor : {pool.executor(), sequential_executor(), lazy}) {
    const auto all = BadReader(kCount, kCount).whole_at(kCount, executor);
    ASSERT_TRUE(all);
    ASSERT_EQ(std::ssize(*all), kCount);
    for (size_t i = 0; i < all->size(); ++i) ASSERT_EQ((*all)[i], std::byte(i % 251));
    for (const int64_t bad : {int64_t{0}, int64_t{3} << 20, kCount - 1}) {
      const auto failed = BadReader(kCount, bad).whole_at(kCount, executor);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().message, "byte " + std::to_string(bad));
    }
    EXPECT_EQ(BadReader(kCount, kCount).whole_at(kCount - 1, executor).error().code,
              ErrorCode::limit);
  }
  EXPECT_EQ(BadReader(0, 0).whole_at(0, pool.executor()).value().size(), 0);
}

}  // namespace
}  // namespace dequant::format
