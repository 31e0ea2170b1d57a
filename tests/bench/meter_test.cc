// What a measurement counts and compares.
#include "bench/measure/meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"

namespace dequant::bench {
namespace {

using dequant::testing::fails;
using dequant::testing::succeeds;

Cell cell_named(const std::string& name) { return select({.cells = {name}}).value().at(0); }

TEST(Median, IsTheMiddleOneOrTheMeanOfTwo) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({8, 1, 2, 100}), 5);
  EXPECT_EQ(median({3, 3, 1, 1, 2}), 2);
}

TEST(Workload, CountsEveryByteReadAndWritten) {
  Memories memories;
  const auto bytes = [&](const char* name, int64_t elements) {
    return Workload::make(cell_named(name), elements, memories).value().bytes;
  };
  constexpr int64_t kN = int64_t{1} << 18;
  EXPECT_EQ(bytes("uint8/float32/per_tensor", kN), kN * 5 + 4 + 1);
  EXPECT_EQ(bytes("int4/float16/blocked_32_last", kN), kN / 2 + kN * 2 + kN / 32 * 2 + kN / 64);
  EXPECT_EQ(bytes("float8e4m3fn/bfloat16/per_axis_last", kN), kN * 3 + 4096 * 2);
  EXPECT_EQ(bytes("ranges/int32/float32/scaled", kN), kN * 8 + 4 + 4);
}

TEST(Workload, GapsOfACacheLineAreNotRead) {
  Memories memories;
  const auto read = [&](const char* name) {
    const auto work = Workload::make(cell_named(name), int64_t{1} << 18, memories).value();
    return static_cast<int64_t>(work.traffic.reads[0].size());
  };
  constexpr int64_t kN = int64_t{1} << 18;
  // 64 of 96 elements: 64 of 96 bytes touch every line, 128 of 192 two of three.
  EXPECT_EQ(read("strided/uint8/float32/padded_x_of_64"), kN / 64 * 96 - 32);
  EXPECT_EQ(read("strided/int16/float32/padded_x_of_64"), kN * 2);
  EXPECT_EQ(read("strided/uint8/float32/padded_x"), kN);
  EXPECT_EQ(read("strided/int4/float32/padded_x"), (kN + 64 * 63) / 2);
}

TEST(Workload, GapsOfTheOutputAreNotWritten) {
  Memories memories;
  const auto work =
      Workload::make(cell_named("strided/uint8/float32/padded_y"), int64_t{1} << 18, memories);
  ASSERT_TRUE(succeeds(work));
  EXPECT_EQ(work->traffic.write.size(), size_t{4} << 18);
  EXPECT_GT(work->buffers.y.size(), size_t{4} << 18);
}

TEST(Workload, TensorsStartOnCacheLinesApartFromEachOther) {
  Memories memories;
  const auto work =
      Workload::make(cell_named("uint8/float32/blocked_32_last"), int64_t{1} << 18, memories);
  ASSERT_TRUE(succeeds(work));
  const auto within_page = [](const auto& bytes) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
    return reinterpret_cast<uintptr_t>(bytes.data()) % 4096;
  };
  const Buffers& b = work->buffers;
  EXPECT_NE(within_page(b.x), within_page(b.y));
  EXPECT_NE(within_page(b.x), within_page(b.scale));
  EXPECT_NE(within_page(b.zero_point), within_page(b.y));
}

TEST(Workload, WhatIsTooLargeForTheMachineIsRefusedWithItsSize) {
  if (available_memory() == std::numeric_limits<int64_t>::max()) {
    GTEST_SKIP() << "THIS SYSTEM DOES NOT SAY HOW MUCH MEMORY IS FREE";
  }
  Memories memories;
  const auto work =
      Workload::make(cell_named("uint8/float32/per_tensor"), int64_t{1} << 40, memories);
  EXPECT_TRUE(fails(work, ErrorCode::out_of_memory,
                    "uint8/float32/per_tensor with 1099511627776 elements: the tensors take 5120.0 "
                    "GiB, the machine has "));
}

TEST(Memory, KeepsItsContentsUntilItGrowsOrServesAnotherType) {
  Memory memory(64);
  const auto scales = memory.get(1000, Fill::float32).value();
  for (size_t i = 3; i < scales.size(); i += 4) EXPECT_EQ(scales[i], std::byte{0x3D});
  scales[0] = std::byte{1};
  scales[1] = std::byte{2};
  EXPECT_EQ(memory.get(500, Fill::float32).value()[1], std::byte{2});
  const auto halves = memory.get(500, Fill::float16).value();
  for (size_t i = 1; i < halves.size(); i += 2)
    EXPECT_EQ(halves[i] & std::byte{0xFC}, std::byte{0x28});
}

TEST(Meter, MeasuresByAnyNumberOfThreads) {
  Meter meter;
  const Cell cell = cell_named("uint8/float32/per_tensor");
  for (const int threads : {1, 2, 0}) {
    const auto m = meter.measure(cell, int64_t{1} << 18, {threads, 1});
    ASSERT_TRUE(succeeds(m));
    EXPECT_EQ(m->elements, int64_t{1} << 18);
    EXPECT_GT(m->seconds, 0);
    EXPECT_GT(m->ceiling_seconds, 0);
    EXPECT_GT(m->percent_of_ceiling, 0);
    EXPECT_DOUBLE_EQ(m->bytes_per_second() * m->seconds, static_cast<double>(m->bytes));
    EXPECT_THAT(m->ceiling, ::testing::HasSubstr("stores"));
  }
}

TEST(Meter, PassesOnWhatRefusesToRun) {
  Meter meter;
  Cell cell = cell_named("uint8/float32/per_tensor");
  cell.lay = [](Plan& plan, int64_t elements) {
    plan.inner = elements;
    plan.implicit_zero_point = 7;  // beside the zero point that is given
  };
  EXPECT_TRUE(fails(meter.measure(cell, 1000, {}), ErrorCode::invalid_argument, "zero_point"));
}

}  // namespace
}  // namespace dequant::bench
