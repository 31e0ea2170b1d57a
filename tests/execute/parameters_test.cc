// Parameters that checkpoints store beside their codes, from end to end: random plans of every kind
// against the definition, element by element, and every code of scales and zero points.
#include <gtest/gtest.h>

#include "dequant/isa.h"
#include "plan/strided.h"
#include "support/expect_error.h"
#include "support/forced_target.h"
#include "support/random_plan.h"
#include "support/slices.h"

namespace dequant::parameters_test {
namespace {

using testing::add_packings;
using testing::Bytes;
using testing::Dimensions;
using testing::expected;
using testing::Random;
using testing::random_cases;
using testing::random_parameters;
using testing::random_plan;
using testing::random_tensors;
using testing::run_slices;
using testing::succeeds;
using testing::Tensors;
using enum Element;

bool is_small(const Plan& plan) {
  const Extents e = extents(plan);
  return std::max({e.x, e.scale, e.zero_point, e.y}) < 200'000;
}

TEST(Parameters, GiveRandomPlansTheSpecifiedBitsOnEveryTarget) {
  Random random(1);
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    for (int i = 0; i < random_cases(700); ++i) {
      const Plan plan = random_plan(random, testing::random_dimensions(random));
      if (!is_small(plan)) continue;
      Tensors t = random_tensors(random, plan, 0);
      const Bytes want = expected(plan, plan.dimensions, t);
      const Stores stores = random.coin() ? Stores::streaming : Stores::cached;
      ASSERT_TRUE(succeeds(run(plan, t.buffers(), {.stores = stores})));
      ASSERT_TRUE(t.y == want) << target << ": " << to_string(plan);
    }
  }
}

// What strided_plan() makes simpler keeps its bits, and much of it becomes a packed plan.
TEST(Parameters, GiveSimplifiedPlansTheSameBits) {
  Random random(2);
  int packed = 0;
  const int cases = random_cases(1500);
  for (int i = 0; i < cases; ++i) {
    Plan plan = random_parameters(random);
    Dimensions d(static_cast<size_t>(random.in(1, 3)));
    for (Dimension& one : d) one.size = random.in(1, 40);
    // Packed x and y, and scales of as many blocks.
    std::array<int64_t, 3> next{1, 1, 1};
    for (size_t k = d.size(); k-- > 0;) {
      d[k].x = d[k].y = next[0];
      next[0] *= d[k].size;
      d[k].block = random.coin() ? random.in(1, d[k].size + 1) : random.coin() ? d[k].size : 1;
      d[k].scale = d[k].zero_point = random.in(0, 5) == 0 ? 0 : next[1];
      next[1] *= (d[k].size + d[k].block - 1) / d[k].block;
    }
    add_packings(random, plan, d);
    auto made = strided_plan(plan, d);
    ASSERT_TRUE(succeeds(made));
    packed += made->granularity == Granularity::strided ? 0 : 1;
    Tensors t = random_tensors(random, *made, 0);
    plan.granularity = Granularity::strided;
    plan.dimensions = d;
    if (!plan.has_zero_point) {
      for (Dimension& one : plan.dimensions) one.zero_point = 0;
    }
    Tensors same = t;
    ASSERT_TRUE(succeeds(run(*made, t.buffers())));
    ASSERT_TRUE(t.y == expected(plan, d, same)) << to_string(*made);
    ASSERT_TRUE(succeeds(run(plan, same.buffers())));
    ASSERT_TRUE(same.y == t.y) << to_string(*made);
  }
  EXPECT_GT(packed, cases / 2);
}

TEST(Parameters, GiveEveryRangeOfSmallPlansTheBitsOfTheWhole) {
  Random random(3);
  for (int i = 0; i < random_cases(400); ++i) {
    const testing::ForcedTarget forced(targets()[static_cast<size_t>(i) % targets().size()]);
    Dimensions dimensions(static_cast<size_t>(random.in(1, 3)));
    for (Dimension& d : dimensions) d.size = random.in(1, 4);
    for (const auto stride : {&Dimension::x, &Dimension::scale, &Dimension::zero_point}) {
      testing::random_strides(random, dimensions, stride, true);
    }
    testing::random_strides(random, dimensions, &Dimension::y, false);
    Plan plan = random_plan(random, dimensions);
    if (random.coin() && plan.parameters.group_index.groups == 0) {
      auto made = strided_plan(plan, plan.dimensions);
      ASSERT_TRUE(succeeds(made));
      plan = *made;
    }
    const int64_t count = element_count(plan);
    Tensors t = random_tensors(random, plan, 0);
    Tensors whole = t;
    ASSERT_TRUE(succeeds(run(plan, whole.buffers())));
    for (int64_t begin = 0; begin <= count; ++begin) {
      for (int64_t end = begin; end <= count; ++end) {
        Tensors joined = t;
        for (const Range part : {Range{0, begin}, Range{begin, end}, Range{end, count}}) {
          ASSERT_TRUE(succeeds(run_slices(plan, part, joined))) << to_string(plan);
        }
        ASSERT_TRUE(joined.y == whole.y) << to_string(plan) << ": " << begin << " to " << end;
      }
    }
  }
}

TEST(Parameters, GiveBandsAndThreadsTheSameBits) {
  Random random(4);
  ThreadPool pool(2);
  for (int i = 0; i < random_cases(60); ++i) {
    Plan plan = random_parameters(random);
    // [rows, columns] in blocks with short last ones; x as it is or transposed.
    const int64_t rows = random.in(100, 300);
    const int64_t columns = random.in(100, 450);
    const bool transposed = random.coin();
    Dimensions d{{rows, transposed ? 1 : columns, 0, 0, columns, random.in(1, 128)},
                 {columns, transposed ? rows : 1, 1, 1, 1, random.in(1, 128)}};
    d[0].scale = d[0].zero_point = (columns + d[1].block - 1) / d[1].block;
    add_packings(random, plan, d);
    auto made = strided_plan(plan, d);
    ASSERT_TRUE(succeeds(made));
    Tensors t = random_tensors(random, *made, 0);
    const Bytes want = expected(*made, d, t);
    Tensors banded = t;
    const int64_t band = random.in(1, 300) * columns;
    for (int64_t begin = 0; begin < rows * columns; begin += band) {
      ASSERT_TRUE(succeeds(run_slices(*made, {begin, std::min(begin + band, rows * columns)},
                                      banded, {.executor = pool.executor()})));
    }
    ASSERT_TRUE(succeeds(run(*made, t.buffers(), {.executor = pool.executor()})));
    ASSERT_TRUE(t.y == want) << to_string(*made);
    ASSERT_TRUE(banded.y == want) << to_string(*made);
  }
}

/// Every stored scale with `group` codes of x each, every tensor scale.
void expect_every_scale(Element scale, Element x, bool infinite, int64_t group) {
  Random random(5);
  Plan plan{.input = x, .scale = scale, .granularity = Granularity::blocked};
  plan.axis = 256 * group;
  plan.block = group;
  plan.parameters.infinite_e8m0 = infinite;
  const Dimensions d{{256, group, 1, 0, group}, {group, 1, 0, 0, 1}};
  for (const uint32_t tensor_scale :
       {0x00000000U, 0x80000000U, 0x00000001U, 0x007FFFFFU, 0x3F800000U, 0x3B360B61U, 0x453FEDCBU,
        0x7F7FFFFFU, 0x7F800000U, 0xFF800000U, 0x7FC00000U, 0x0D812345U}) {
    for (const TensorScale how : {TensorScale::multiply, TensorScale::divide, TensorScale::none}) {
      for (const Element y : {float32, float16, bfloat16}) {
        plan.output = y;
        plan.parameters.tensor_scale = how;
        Tensors t = random_tensors(random, plan, 0);
        for (size_t i = 0; i < t.scale.size(); ++i) t.scale[i] = static_cast<std::byte>(i);
        if (how != TensorScale::none) t.tensor_scale = testing::pack(float32, {tensor_scale});
        const Bytes want = expected(plan, d, t);
        ASSERT_TRUE(succeeds(run(plan, t.buffers())));
        ASSERT_TRUE(t.y == want) << to_string(plan) << " " << tensor_scale;
      }
    }
  }
}

TEST(Parameters, EveryScaleOfEightBitsWithEveryKindOfTensorScaleIsExact) {
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    for (const Element x : {float4e2m1, int8, float8e5m2}) {
      for (const int64_t group : {16, 32}) {
        ASSERT_NO_FATAL_FAILURE(expect_every_scale(float8e4m3fn, x, false, group));
        ASSERT_NO_FATAL_FAILURE(expect_every_scale(float8e8m0, x, false, group));
        ASSERT_NO_FATAL_FAILURE(expect_every_scale(float8e8m0, x, true, group));
      }
    }
  }
}

/// Every code of x with every stored zero point, packed; a group for each.
void expect_every_zero_point(Plan plan, int64_t zeros) {
  Random random(6);
  const int64_t group = int64_t{1} << std::max(bits(plan.input), 5);
  plan.granularity = Granularity::blocked;
  plan.has_zero_point = true;
  plan.axis = zeros * group;
  plan.block = group;
  const Dimensions d{{zeros, group, 1, 1, group}, {group, 1, 0, 0, 1}};
  Tensors t = random_tensors(random, plan, 0);
  std::vector<uint32_t> codes(static_cast<size_t>(plan.axis));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint32_t>(i);
  t.x = testing::pack(plan.input, codes);
  codes.resize(static_cast<size_t>(extents(plan).zero_point));
  t.zero_point = testing::pack(zero_point_element(plan), codes);
  const Bytes want = expected(plan, d, t);
  ASSERT_TRUE(succeeds(run(plan, t.buffers())));
  ASSERT_TRUE(t.y == want) << to_string(plan);
}

TEST(Parameters, EveryZeroPointOfAnotherIntegerTypeWithEveryOffsetIsExact) {
  using enum ZeroPointOverflow;
  size_t i = 0;
  for (const std::string_view target : targets()) {
    const testing::ForcedTarget forced(target);
    for (const Element x : {uint8, int8, uint4, int4, uint2, int2}) {
      for (const Element zero : {uint8, int8, uint4, int4, uint2, int2}) {
        for (const int32_t offset : {0, 1, -1, 8, -256, 256}) {
          for (const auto overflow : {keep, wrap, carry}) {
            if (overflow == carry && kind(zero) == Kind::signed_integer) continue;
            const Element y = std::array{float32, float16, bfloat16}[i++ % 3];
            Plan plan{.input = x, .scale = y, .output = y};
            plan.parameters.zero_point = zero;
            plan.parameters.zero_point_offset = offset;
            plan.parameters.zero_point_overflow = overflow;
            ASSERT_NO_FATAL_FAILURE(expect_every_zero_point(plan, int64_t{1} << bits(zero)));
          }
        }
      }
    }
  }
}

TEST(Parameters, EveryZeroPointOfSixteenBitsIsExact) {
  for (const Element x : {uint4, int8, uint2}) {
    for (const Element zero : {float16, bfloat16}) {
      Plan plan{.input = x, .scale = float16, .output = x == int8 ? float32 : zero};
      plan.parameters.zero_point = zero;
      ASSERT_NO_FATAL_FAILURE(expect_every_zero_point(plan, x == int8 ? 4096 : 65536));
    }
  }
}

// The stored zero points of GPTQ are one less than what they stand for, and of all ones there are
// three readings.
TEST(Parameters, AStoredZeroPointOfAllOnesHasThreeReadings) {
  using enum ZeroPointOverflow;
  // Two words of eight: 15 in the second field of the first.
  const Bytes zero = testing::pack(uint4, {7, 15, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15});
  const std::array<std::vector<float>, 3> zeros{
      std::vector<float>{8, 16, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16},
      std::vector<float>{8, 0, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0},
      std::vector<float>{8, 0, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0}};
  const Bytes x(8, std::byte{0});
  const Bytes scale = testing::pack(float32, std::vector<uint32_t>(16, testing::bits_of(-1.0F)));
  for (const auto overflow : {keep, wrap, carry}) {
    Plan plan{.input = uint4, .has_zero_point = true, .granularity = Granularity::per_axis};
    plan.axis = 16;
    plan.parameters.zero_point_offset = 1;
    plan.parameters.zero_point_overflow = overflow;
    std::array<float, 16> y{};
    ASSERT_TRUE(succeeds(run(plan, {x, scale, zero, std::as_writable_bytes(std::span(y))})));
    EXPECT_EQ(std::vector<float>(y.begin(), y.end()), zeros[static_cast<size_t>(overflow)]);
  }
}

TEST(Parameters, BlocksOf128On576RowsHaveAShortLastBlock) {
  Random random(7);
  Plan plan{.input = float8e4m3fn, .output = bfloat16};
  const Dimensions d{{576, 300, 3, 0, 300, 128}, {300, 1, 1, 0, 1, 128}};
  auto made = strided_plan(plan, d);
  ASSERT_TRUE(succeeds(made));
  EXPECT_EQ(made->granularity, Granularity::strided);
  EXPECT_EQ(extents(*made), (Extents{.x = 172'800, .scale = 15, .y = 172'800}));
  EXPECT_EQ(slices_of(*made, {512 * 300, 576 * 300}).scale, (Range{8, 15}));
  Tensors t = random_tensors(random, *made, 0);
  const Bytes want = expected(*made, d, t);
  ASSERT_TRUE(succeeds(run(*made, t.buffers())));
  EXPECT_TRUE(t.y == want);
}

TEST(Parameters, BlocksOfOneDimensionThatAreShortMakeAPackedPlan) {
  auto made = strided_plan({}, {{5, 300, 3, 0, 300}, {300, 1, 1, 0, 1, 128}});
  ASSERT_TRUE(succeeds(made));
  EXPECT_EQ(
      *made,
      (Plan{
          .granularity = Granularity::blocked, .outer = 5, .axis = 300, .inner = 1, .block = 128}));
  made = strided_plan({}, {{300, 7, 7, 0, 7, 128}, {7, 1, 1, 0, 1}});
  ASSERT_TRUE(succeeds(made));
  EXPECT_EQ(
      *made,
      (Plan{
          .granularity = Granularity::blocked, .outer = 1, .axis = 300, .inner = 7, .block = 128}));
}

}  // namespace
}  // namespace dequant::parameters_test
