// run() from end to end against the specification: every type, every granularity, any alignment.
#include <gtest/gtest.h>

#include <algorithm>

#include "dequant/isa.h"
#include "support/example.h"
#include "support/forced_target.h"
#include "support/guarded_buffer.h"

namespace dequant::run_test {
namespace {

using testing::Bytes;
using testing::Dims;
using testing::Example;
using testing::expected;
using testing::Granular;
using testing::Random;
using testing::random_example;
using testing::run_example;
using testing::same_output;
using testing::Types;
using enum Element;

/// Shapes of each granularity, with groups shorter and longer than a vector and of odd length.
const std::vector<Granular>& sample_shapes() {
  static const std::vector<Granular> list{
      {.x = {}, .scale = {}},
      {.x = {3, 37}, .scale = {1}},
      {.x = {5, 3, 7}, .scale = {5}, .axis = 0},
      {.x = {3, 5, 33}, .scale = {5}, .axis = 1},
      {.x = {7, 45}, .scale = {45}, .axis = -1},
      {.x = {40, 3}, .scale = {3}, .axis = 1},
      {.x = {5, 70}, .scale = {5, 3}, .axis = 1, .block = 32},
      {.x = {5, 67}, .scale = {5, 3}, .axis = 1, .block = 33},
      {.x = {5, 67}, .scale = {5, 23}, .axis = 1, .block = 3},
      {.x = {2, 9, 21}, .scale = {2, 5, 21}, .axis = 1, .block = 2},
      {.x = {9, 3, 2}, .scale = {3, 3, 2}, .axis = 0, .block = 4},
      {.x = {77}, .scale = {5}, .axis = 0, .block = 16},
  };
  return list;
}

TEST(Run, GivesRandomTensorsTheSpecifiedBits) {
  Random random(1);
  for (int i = 0; i < 6000; ++i) {
    const int64_t rank = random.in(0, 5);
    Granular shapes =
        testing::random_granular(random, testing::random_dims(random, rank, rank > 2 ? 7 : 70));
    const Example e = random_example(random, std::move(shapes), testing::random_types(random));
    ASSERT_TRUE(same_output(e, run_example(e), expected(e)));
  }
}

TEST(Run, GivesEveryTypeInEveryGranularityTheSpecifiedBitsOnEveryTarget) {
  Random random(2);
  for (const Element x : elements()) {
    if (!is_input(x)) continue;
    for (const Element scale : {float32, float16, bfloat16, float8e8m0}) {
      for (const Element y : {float32, float16, bfloat16}) {
        for (const Granular& shapes : sample_shapes()) {
          const Example e = random_example(random, shapes, {x, scale, y, random.coin()});
          const Bytes want = expected(e);
          for (const std::string_view target : targets()) {
            const testing::ForcedTarget forced(target);
            ASSERT_TRUE(same_output(e, run_example(e), want)) << target;
          }
        }
      }
    }
  }
}

TEST(Run, TakesMemoryAtAnyAlignment) {
  Random random(3);
  for (size_t offset = 0; offset < 64; ++offset) {
    for (const Granular& shapes : sample_shapes()) {
      const Example e = random_example(random, shapes, testing::random_types(random));
      const auto shifted = [&](const Bytes& from, size_t by) {
        Bytes to(by);
        to.insert(to.end(), from.begin(), from.end());
        return to;
      };
      const Bytes x = shifted(e.x, offset);
      const Bytes scale = shifted(e.scale, (offset + 1) % 64);
      const Bytes zero = shifted(e.zero_point, (offset + 3) % 64);
      Bytes y(e.y_bytes() + 64 + offset, testing::kUntouched);
      const auto rest = [](const Bytes& b, size_t by) { return std::span(b).subspan(by); };
      const Status status =
          run(e.plan,
              {rest(x, offset), rest(scale, (offset + 1) % 64),
               e.plan.has_zero_point ? rest(zero, (offset + 3) % 64) : std::span<std::byte>{},
               std::span(y).subspan(offset, e.y_bytes())},
              {.stores = offset % 2 == 0 ? Stores::cached : Stores::streaming});
      ASSERT_TRUE(status) << status.error().message;
      Bytes want = shifted(expected(e), offset);
      std::fill_n(want.begin(), offset, testing::kUntouched);
      want.resize(y.size(), testing::kUntouched);
      ASSERT_TRUE(y == want) << to_string(e.plan) << " at " << offset;
    }
  }
}

TEST(Run, TouchesNothingBesideItsBuffers) {
  Random random(4);
  const testing::GuardedBuffer x(1 << 12);
  const testing::GuardedBuffer scale(1 << 12);
  const testing::GuardedBuffer zero(1 << 12);
  const testing::GuardedBuffer y(1 << 12);
  const auto slot = [](const testing::GuardedBuffer& buffer, size_t size, bool end) {
    auto* at = reinterpret_cast<std::byte*>(end ? buffer.before_end(size) : buffer.begin());
    return std::span(at, size);
  };
  for (int i = 0; i < 2000; ++i) {
    const Granular shapes = testing::random_granular(random, testing::random_dims(random, 2, 30));
    const Example e = random_example(random, shapes, testing::random_types(random));
    for (const bool end : {false, true}) {
      const Buffers buffers{slot(x, e.x.size(), end), slot(scale, e.scale.size(), end),
                            slot(zero, e.zero_point.size(), end), slot(y, e.y_bytes(), end)};
      std::copy(e.x.begin(), e.x.end(), slot(x, e.x.size(), end).begin());
      std::copy(e.scale.begin(), e.scale.end(), slot(scale, e.scale.size(), end).begin());
      std::copy(e.zero_point.begin(), e.zero_point.end(),
                slot(zero, e.zero_point.size(), end).begin());
      const Status status = run(e.plan, buffers);
      ASSERT_TRUE(status) << status.error().message;
      ASSERT_TRUE(same_output(e, Bytes(buffers.y.begin(), buffers.y.end()), expected(e)));
    }
  }
}

TEST(Run, IgnoresTheUnusedBitsOfTheLastByte) {
  Random random(5);
  for (const Element x : {uint4, int4, float4e2m1, float6e2m3, uint2, int2}) {
    for (int64_t n = 1; n < 40; ++n) {
      Example e = random_example(random, {.x = {n}, .scale = {}}, {.x = x, .zero_point = false});
      const Bytes want = expected(e);
      const int used = static_cast<int>(n * bits(x) % 8);
      if (used != 0) e.x.back() ^= std::byte{0xFF} << used;
      EXPECT_TRUE(same_output(e, run_example(e), want));
    }
  }
}

TEST(Run, SubtractsTheExtremesOf32BitIntegersExactly) {
  const Bytes scale = testing::pack(float32, {testing::bits_of(1.0F)});
  Bytes y(4);
  const auto dequantize = [&](Element element, uint32_t x, uint32_t zero) {
    const Plan plan{.input = element, .has_zero_point = true};
    const Bytes codes = testing::pack(element, {x});
    const Bytes zeros = testing::pack(element, {zero});
    EXPECT_TRUE(run(plan, {codes, scale, zeros, y}));
    return testing::float_of(testing::code_at(float32, y, 0));
  };
  EXPECT_EQ(dequantize(int32, 0x80000000, 0x7FFFFFFF), -4294967295.0F);
  EXPECT_EQ(dequantize(int32, 0x7FFFFFFF, 0x80000000), 4294967295.0F);
  EXPECT_EQ(dequantize(int32, 0x80000000, 0x80000000), 0.0F);
  EXPECT_EQ(dequantize(uint32, 0, 0xFFFFFFFF), -4294967295.0F);
  EXPECT_EQ(dequantize(uint32, 0xFFFFFFFF, 0), 4294967295.0F);
  EXPECT_EQ(dequantize(uint32, 0x80000000, 0x7FFFFFFF), 1.0F);
}

}  // namespace
}  // namespace dequant::run_test
