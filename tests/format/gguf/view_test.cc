// Parts of stored tensors in another order: any range of them.
#include "format/gguf/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace dequant::format::gguf {
namespace {

struct Reads {
  int64_t all = 0;   ///< numbers
  int64_t most = 0;  ///< at once
};

/// Numbers in memory.
class Numbers : public StoredReader {
 public:
  explicit Numbers(std::vector<float> values, Reads* reads = nullptr)
      : StoredReader(Element::float32, static_cast<int64_t>(values.size())),
        values_(std::move(values)),
        reads_(reads) {}

  bool seekable() const override { return true; }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    EXPECT_EQ(out.size(), sizeof(float) * static_cast<size_t>(elements.end - elements.begin));
    EXPECT_LE(elements.end, count());
    std::memcpy(out.data(), values_.data() + elements.begin, out.size());
    if (reads_ == nullptr) return {};
    reads_->all += elements.end - elements.begin;
    reads_->most = std::max(reads_->most, elements.end - elements.begin);
    return {};
  }
  Status finish() override { return {}; }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "numbers"; }

  std::vector<float> values_;
  Reads* const reads_;
};

std::unique_ptr<StoredReader> numbers(size_t count, Reads* reads = nullptr) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return std::make_unique<Numbers>(std::move(values), reads);
}

std::vector<float> read(const StoredReader& reader, Range range) {
  std::vector<float> out(static_cast<size_t>(range.end - range.begin));
  EXPECT_TRUE(reader.read_at(range, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST(GgufView, OfHeadsHasTheirFirstHalvesBeforeTheirSecond) {
  // Two heads of four rows of three numbers; stored rows are 0 2 1 3 of each head.
  const auto reader = open_view({.head = 4}, numbers(24), 3);
  const std::vector<float> wanted{0,  1,  2,  6,  7,  8,  3,  4,  5,  9,  10, 11,
                                  12, 13, 14, 18, 19, 20, 15, 16, 17, 21, 22, 23};
  for (int64_t begin = 0; begin <= 24; ++begin) {
    for (int64_t end = begin; end <= 24; ++end) {
      EXPECT_EQ(read(*reader, {begin, end}),
                std::vector<float>(wanted.begin() + begin, wanted.begin() + end))
          << begin << " to " << end;
    }
  }
}

// Each range of a head was read with all of the head.
TEST(GgufView, OfOneLongHeadIsReadTwiceAtMostAndInPieces) {
  for (const int64_t row : {3, 999, 40'000}) {
    const int64_t rows = 600'000 / row / 2 * 2;
    Reads reads;
    const auto reader = open_view({.head = rows}, numbers(size_t(rows * row), &reads), row);
    constexpr int64_t kStep = 7'000;
    for (int64_t begin = 0; begin < rows * row; begin += kStep) {
      const int64_t end = std::min(begin + kStep, rows * row);
      const std::vector<float> found = read(*reader, {begin, end});
      for (int64_t at = begin; at < end; ++at) {
        const int64_t r = at / row;
        const int64_t stored = r < rows / 2 ? 2 * r : 2 * (r - rows / 2) + 1;
        ASSERT_EQ(found[size_t(at - begin)], float(stored * row + at % row)) << at;
      }
    }
    EXPECT_LE(reads.all, 2 * rows * row);
    EXPECT_LE(reads.most, int64_t{1} << 15);
  }
}

TEST(GgufView, LessOneRoundsOnce) {
  const auto reader = open_view(
      {.less_one = true},
      std::make_unique<Numbers>(std::vector<float>{1.5F, 0x1p-25F, -0.0F, 16777216.0F}), 1);
  EXPECT_EQ(read(*reader, {0, 4}), (std::vector<float>{0.5F, -1.0F, -1.0F, 16777215.0F}));
}

TEST(GgufView, IsReadFromFrontToBackToo) {
  const auto reader = open_view({.head = 2, .less_one = true}, numbers(8), 2);
  std::vector<float> out(8);
  ASSERT_TRUE(reader->read(8, std::as_writable_bytes(std::span(out))));
  EXPECT_EQ(out, (std::vector<float>{-1, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(reader->finish());
}

}  // namespace
}  // namespace dequant::format::gguf
