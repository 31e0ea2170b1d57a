// Loading through a ring, over devices in host memory: whose events are whose, and what is left on
// streams where something fails.
#include <gtest/gtest.h>

#include <new>
#include <random>

#include "cuda/device/device_host.h"
#include "cuda/device/load.h"
#include "dequant/block.h"
#include "dequant/gguf.h"
#include "format/model/bytes_reader.h"

namespace dequant::cuda {
namespace {

using Bytes = std::vector<std::byte>;

Stream const kCaller = reinterpret_cast<Stream>(uintptr_t{0x40});

std::unique_ptr<Ring> make_ring(size_t slot_bytes = 1 << 13) {
  return Ring::make(devices(), 3, slot_bytes).value();
}

/// What a stream of the caller waits for is done, and nothing else.
int64_t waiting_after(Stream stream) {
  EXPECT_TRUE(devices().synchronize(stream));
  return host_counts().waiting;
}

/// Finds no memory after everything was read.
class WithoutMemoryAtTheEnd : public format::BytesReader {
 public:
  using BytesReader::BytesReader;
  Status finish() override { throw std::bad_alloc(); }
};

template <class Reader>
format::RecipeReaders readers_of(const Bytes& stored) {
  format::RecipeReaders readers;
  readers.codes = std::make_unique<Reader>(std::make_shared<const Bytes>(stored), Element::uint8,
                                           std::ssize(stored), "codes");
  return readers;
}

Bytes random_bytes(int64_t count) {
  std::mt19937 random(5);
  Bytes bytes(static_cast<size_t>(count));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() % 100);
  return bytes;
}

/// A row of blocks as float32.
Plan plan_of(BlockType type, int64_t blocks) {
  const int64_t shape[] = {blocks * block_elements(type)};
  return gguf::dequantize({.type = type, .shape = shape}).value();
}

// An event that a batch was moved from was also given back to the ring. All batches had that one
// event: a stream waited for the work of another tensor instead of its own.
TEST(RingTest, BatchesHaveEventsOfTheirOwn) {
  const auto ring = make_ring();
  const int64_t before = host_counts().events;
  {
    const Batch first = Batch::make(*ring, kCaller).value();
    EXPECT_EQ(host_counts().events, before);  // the one that the ring was made with
    const Batch second = Batch::make(*ring, kCaller).value();
    const Batch third = Batch::make(*ring, kCaller).value();
    EXPECT_EQ(host_counts().events, before + 2);
  }
  for (int i = 0; i < 10; ++i) {
    const Batch first = Batch::make(*ring, kCaller).value();
    const Batch second = Batch::make(*ring, kCaller).value();
    EXPECT_EQ(host_counts().events, before + 2);
  }
}

TEST(RingTest, WithoutMemoryAtTheEndTheStreamWaitsForWhatWasPutOnTheRing) {
  const auto ring = make_ring();
  host_settle();
  const Bytes stored = random_bytes(1000 * block_bytes(BlockType::Q4_0));
  const Plan plan = plan_of(BlockType::Q4_0, 1000);
  Bytes y(static_cast<size_t>(plan.axis) * sizeof(float));
  const Status status = load(*ring, plan, readers_of<WithoutMemoryAtTheEnd>(stored), y, kCaller,
                             sequential_executor());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::out_of_memory);
  EXPECT_GT(host_counts().waiting, 0);
  EXPECT_EQ(waiting_after(kCaller), 0);
}

// Blocks of Q8_0 have more than 8 bits for each element. They did not fit in bands, and all codes
// of a tensor were on the device at once.
TEST(RingTest, BlocksAreLoadedInBands) {
  for (const BlockType type : {BlockType::Q8_0, BlockType::Q4_K, BlockType::Q6_K}) {
    const auto ring = make_ring(1 << 17);
    host_settle();
    const Bytes stored = random_bytes(400'000 / block_bytes(type) * block_bytes(type));
    const Plan plan = plan_of(type, std::ssize(stored) / block_bytes(type));
    Bytes wanted(static_cast<size_t>(plan.axis) * sizeof(float));
    ASSERT_TRUE(dequant::run(plan, {stored, {}, {}, wanted}));
    Bytes y(wanted.size());
    const int64_t before = host_counts().device_bytes;
    ASSERT_TRUE(
        load(*ring, plan, readers_of<format::BytesReader>(stored), y, kCaller, default_executor()));
    EXPECT_EQ(host_counts().device_bytes, before) << name(type);
    EXPECT_EQ(waiting_after(kCaller), 0);
    EXPECT_EQ(y, wanted) << name(type);
  }
}

TEST(RingTest, AStreamThatAGraphCapturesIsRefused) {
  const auto ring = make_ring();
  host_capture(kCaller, true);
  const auto batch = Batch::make(*ring, kCaller);
  host_capture(kCaller, false);
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, ErrorCode::unsupported);
  EXPECT_EQ(batch.error().message,
            "stream: a CUDA graph captures it, and a graph cannot repeat the reading of a file");
  EXPECT_TRUE(Batch::make(*ring, kCaller));
}

}  // namespace
}  // namespace dequant::cuda
