// The ceiling reads every byte and writes every byte, once.
#include "bench/measure/ceiling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "dequant/executor.h"

namespace dequant::bench {
namespace {

constexpr size_t kLine = 64;

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Lines = std::unique_ptr<std::byte[], Free>;

Lines lines(size_t size) { return Lines(static_cast<std::byte*>(std::aligned_alloc(kLine, size))); }

std::vector<Way> all_ways() {
  std::vector<Way> ways(ways_beyond_caches().begin(), ways_beyond_caches().end());
  ways.insert(ways.end(), ways_in_caches().begin(), ways_in_caches().end());
  return ways;
}

uint8_t exclusive_or(std::span<const std::byte> bytes) {
  return std::to_integer<uint8_t>(
      std::accumulate(bytes.begin(), bytes.end(), std::byte{0}, std::bit_xor<>()));
}

TEST(Ceiling, BeyondTheCachesEverythingIsReadAndStreamed) {
  for (const Way& way : ways_beyond_caches()) EXPECT_TRUE(way.reads && way.streams);
}

TEST(Ceiling, InTheCachesOnlyConstantsAreStored) {
  bool streams = false;
  bool plain = false;
  for (const Way& way : ways_in_caches()) {
    EXPECT_FALSE(way.reads);
    (way.streams ? streams : plain) = true;
  }
  EXPECT_TRUE(streams && plain);
}

TEST(Ceiling, WritesAllOfTheOutputAndNothingElse) {
  for (const size_t size : {kLine, 5 * kLine, size_t{256} << 10, (size_t{1} << 20) + 3 * kLine}) {
    const Lines memory = lines(size + 2 * kLine);
    for (const Way& way : all_ways()) {
      std::fill_n(memory.get(), size + 2 * kLine, std::byte{7});
      move({{}, {memory.get() + kLine, size}}, way, sequential_executor());
      const auto is = [](std::byte value) { return [=](std::byte b) { return b == value; }; };
      const std::byte* const y = memory.get() + kLine;
      EXPECT_TRUE(std::all_of<const std::byte*>(memory.get(), y, is(std::byte{7}))) << way.name;
      EXPECT_TRUE(std::all_of(y, y + size, is(std::byte{0xFF}))) << way.name << " " << size;
      EXPECT_TRUE(std::all_of(y + size, y + size + kLine, is(std::byte{7}))) << way.name;
    }
  }
}

TEST(Ceiling, ReadsEveryLineOnce) {
  constexpr size_t kSize = (size_t{1} << 20) + kLine;
  const Lines y = lines(kSize);
  for (const size_t divisor : {1u, 3u, 64u, 5000u}) {
    std::vector<std::byte> x(kSize / divisor / kLine * kLine);
    std::vector<std::byte> scale(kLine * 7);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::byte>(i * i / 7);
    for (size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<std::byte>(i * 3);
    const auto expected = static_cast<uint8_t>(exclusive_or(x) ^ exclusive_or(scale));
    for (const Way& way : ways_beyond_caches()) {
      const Traffic traffic{{x, scale}, {y.get(), kSize}};
      EXPECT_EQ(move(traffic, way, sequential_executor()), expected) << divisor;
      EXPECT_EQ(move(traffic, way, default_executor()), expected) << divisor;
    }
  }
}

TEST(Ceiling, HandsTheExecutorAsManyChunksAsRunDoes) {
  constexpr size_t kSize = (size_t{1} << 20) + kLine;
  const Lines y = lines(kSize);
  size_t chunks = 0;
  const Executor counting{[](void* self, size_t count, Executor::Task task, void* context) {
                            *static_cast<size_t*>(self) += count;
                            for (size_t i = 0; i < count; ++i) task(context, i);
                          },
                          &chunks};
  move({{}, {y.get(), kSize}}, ways_in_caches()[0], counting);
  EXPECT_EQ(chunks, 5u);
}

}  // namespace
}  // namespace dequant::bench
