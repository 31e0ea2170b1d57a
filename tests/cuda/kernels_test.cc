// The bodies of the device's kernels give the bits of run(): every kind of plan, every code,
// misaligned buffers, and ranges.
#include <gtest/gtest.h>

#include <array>

#include "cuda/on_device.h"
#include "dequant/cuda.h"
#include "dequant/gguf.h"
#include "dequant/tensorflow.h"
#include "support/random_plan.h"

namespace dequant::cuda_kernels_test {
namespace {

using testing::Bytes;
using testing::bytes_for;
using testing::Dimensions;
using testing::Example;
using testing::pack;
using testing::Random;
using testing::random_cases;
using testing::run_on_device;
using testing::same_on_device;
using testing::Tensors;
using enum Element;

constexpr std::array kOutputs{float32, float16, bfloat16};
constexpr std::array<size_t, 6> kMisaligned{0, 0, 0, 1, 2, 4};

Range random_range(Random& random, const Plan& plan) {
  const int64_t count = element_count(plan);
  const int64_t begin = random.in(0, count);
  return {begin, random.in(begin, count)};
}

/// The whole tensor, and a range of it.
void expect_same(const Plan& plan, const Buffers& b, Random& random) {
  const Range whole{0, element_count(plan)};
  ASSERT_TRUE(same_on_device(plan, whole, b, random.of(kMisaligned)));
  const Range range = random_range(random, plan);
  ASSERT_TRUE(
      same_on_device(plan, range, testing::slices_of(plan, range, b), random.of(kMisaligned)));
}

TEST(CudaKernels, GiveStridedPlansWithAllParametersTheBitsOfRun) {
  Random random(101);
  for (int i = 0; i < random_cases(3000); ++i) {
    const Plan plan = testing::random_plan(random, testing::random_dimensions(random));
    Tensors t = testing::random_tensors(random, plan, 0);
    ASSERT_NO_FATAL_FAILURE(expect_same(plan, t.buffers(), random));
  }
}

TEST(CudaKernels, GivePlansOfDialectsTheBitsOfRun) {
  Random random(102);
  for (int i = 0; i < random_cases(3000); ++i) {
    const auto dims = testing::random_dims(random, 4, random.coin() ? 9 : 40);
    const Example e = testing::random_example(random, testing::random_granular(random, dims),
                                              testing::random_types(random));
    Bytes y(e.y_bytes(), testing::kUntouched);
    ASSERT_NO_FATAL_FAILURE(expect_same(e.plan, {e.x, e.scale, e.zero_point, y}, random));
  }
}

/// Codes of x in words, planes and slabs, along rows and down columns, with vectors that begin
/// anywhere in a row.
TEST(CudaKernels, GiveEveryPackingTheBitsOfRun) {
  Random random(103);
  for (int i = 0; i < random_cases(4000); ++i) {
    const int64_t rows = random.in(1, 20);
    const int64_t columns = random.in(1, 12) * (random.coin() ? 8 : random.in(1, 9));
    const int64_t block = random.coin() ? 8 : random.in(1, columns);
    const int64_t groups = (columns + block - 1) / block;
    Plan plan = testing::random_parameters(random);
    plan.granularity = Granularity::strided;
    const bool transposed = random.in(0, 2) == 0;
    plan.dimensions = {{rows, transposed ? 1 : columns, groups, groups, columns},
                       {columns, transposed ? rows : 1, 1, 1, 1, block}};
    testing::add_packings(random, plan, plan.dimensions);
    Tensors t = testing::random_tensors(random, plan, 0);
    ASSERT_NO_FATAL_FAILURE(expect_same(plan, t.buffers(), random));
  }
}

/// Scales that make products subnormal, infinite and NaN, and ordinary ones.
constexpr std::array<uint32_t, 8> kScales{0x3F800000, 0x3C23D70A, 0xBF8CCCCD, 0x00000001,
                                          0x33D6BF95, 0x7F800000, 0x7FC00001, 0x71123456};

/// Every code of a type, times scales.
void expect_all_codes(Element x, Element output, Random& random) {
  const int64_t codes = int64_t{1} << std::min(bits(x), 16);
  std::vector<uint32_t> all;
  for (int64_t c = 0; c < codes; ++c) {
    const auto code = static_cast<uint32_t>(c);
    all.push_back(bits(x) == 32 ? code << 16 | static_cast<uint32_t>(random.in(0, 65535)) : code);
  }
  const Bytes data = pack(x, all);
  for (const uint32_t scale : kScales) {
    Plan plan{.input = x, .output = output, .inner = codes};
    plan.has_zero_point = kind(x) != Kind::floating;
    const Bytes scales = pack(float32, {scale});
    const Bytes zero = plan.has_zero_point ? testing::random_bytes(random, 4) : Bytes();
    Bytes y(bytes_for(output, codes), testing::kUntouched);
    ASSERT_TRUE(same_on_device(plan, {0, codes}, {data, scales, zero, y}, 0));
  }
}

TEST(CudaKernels, GiveAllCodesOfEveryTypeTheBitsOfRun) {
  Random random(104);
  for (const Element x : elements()) {
    if (!is_input(x)) continue;
    for (const Element output : kOutputs) {
      ASSERT_NO_FATAL_FAILURE(expect_all_codes(x, output, random));
    }
  }
}

TEST(CudaKernels, GiveRulesOfRangesTheBitsOfRun) {
  Random random(105);
  constexpr std::array kInputs{uint8, int8, uint16, int16, int32};
  constexpr std::array kEdges{0.0F, -1.0F, 1.0F, 6.0F, -3e38F, 3e38F, 1e-40F, INFINITY, NAN};
  for (int i = 0; i < random_cases(4000); ++i) {
    Plan plan{.input = random.of(kInputs), .output = random.of(kOutputs)};
    plan.rule = static_cast<Rule>(random.in(1, 7));
    plan.inner = random.in(1, 70);
    if (plan.rule >= Rule::documented_min_combined) {
      plan.output = float32;
    } else if (random.coin()) {
      plan.granularity = Granularity::per_axis;
      plan.axis = random.in(1, 9);
      plan.outer = random.in(1, 3);
      plan.inner = random.in(1, 20);
    } else if (random.coin()) {  // a range for each element of rows of vectors
      plan.granularity = Granularity::per_axis;
      plan.axis = 8 * random.in(1, 9);
      plan.outer = random.in(1, 40);
      plan.inner = 1;
    }
    const auto ranges = [&] {
      std::vector<uint32_t> out(static_cast<size_t>(scale_count(plan)));
      for (uint32_t& v : out) {
        v = testing::bits_of(random.coin() ? random.of(kEdges)
                                           : static_cast<float>(random.in(-999, 999)) / 64);
      }
      return pack(float32, out);
    };
    const Bytes low = ranges(), high = ranges();
    const int64_t count = element_count(plan);
    const Bytes x = testing::random_bytes(random, bytes_for(plan.input, count));
    Bytes y(bytes_for(plan.output, count), testing::kUntouched);
    ASSERT_NO_FATAL_FAILURE(expect_same(
        plan, {.x = x, .scale = {}, .zero_point = {}, .y = y, .min_range = low, .max_range = high},
        random));
  }
}

/// Blocks of any bytes, with and without a tensor scale for each row.
TEST(CudaKernels, GiveEveryBlockTypeTheBitsOfRun) {
  Random random(106);
  for (const BlockType type : block_types()) {
    for (int i = 0; i < random_cases(24); ++i) {
      const int64_t rows = random.in(1, 4);
      const int64_t blocks = random.in(1, 3);
      const int64_t shape[] = {rows, blocks * block_elements(type)};
      const auto plan = gguf::dequantize({.type = type,
                                          .shape = shape,
                                          .output = random.of(kOutputs),
                                          .has_scale = i % 3 != 0,
                                          .scale_per_expert = i % 3 == 2});
      ASSERT_TRUE(plan) << plan.error().message;
      const Bytes x =
          testing::random_bytes(random, static_cast<size_t>(rows * blocks * block_bytes(type)));
      const Bytes scale = testing::random_scales(random, float32, extents(*plan).tensor_scale);
      Bytes y(bytes_for(plan->output, element_count(*plan)), testing::kUntouched);
      ASSERT_NO_FATAL_FAILURE(expect_same(
          *plan, {.x = x, .scale = {}, .zero_point = {}, .y = y, .tensor_scale = scale}, random));
    }
  }
}

TEST(CudaKernels, TellOfEntriesThatAreNoGroupAndMakeTheirElementsNan) {
  Plan plan{.input = uint8};
  plan.granularity = Granularity::strided;
  plan.dimensions = {{.size = 6, .x = 1, .y = 1, .group_index = 1}};
  plan.parameters.group_index = {.groups = 2, .scale = 1};
  const Bytes x = pack(uint8, {1, 2, 3, 4, 5, 6});
  const Bytes scale = pack(float32, {0x3F800000, 0x40000000});
  const Bytes groups = pack(int32, {0, 1, 2, 0xFFFFFFFF, 1, 0x80000000});
  Bytes y(24);
  Buffers b{x, scale, {}, y};
  b.group_index = groups;
  uint32_t faults = 0;
  const Bytes got = run_on_device(plan, {0, 6}, b, 0, &faults);
  EXPECT_EQ(faults, static_cast<uint32_t>(cuda::Fault::group_index));
  EXPECT_EQ(got, pack(float32, {0x3F800000, 0x40800000, kCanonicalNan, kCanonicalNan, 0x41200000,
                                kCanonicalNan}));
}

TEST(CudaKernels, TellOfZeroPointsOfFloatsThatAreNotZero) {
  for (const Element x : {float8e4m3fn, float8e5m2, float4e2m1, float6e2m3}) {
    const auto minus_zero = uint32_t{1} << (bits(x) - 1);
    for (const uint32_t zero : {uint32_t{0}, minus_zero, uint32_t{1}}) {
      Plan plan{.input = x, .inner = 8};
      plan.has_zero_point = true;
      const Bytes codes = pack(x, {0, 1, 2, 3, 4, 5, 6, 7});
      const Bytes scale = pack(float32, {0x3F800000});
      const Bytes zeros = pack(x, {zero});
      Bytes y(32);
      uint32_t faults = 0;
      run_on_device(plan, {0, 8}, {codes, scale, zeros, y}, 0, &faults);
      const bool refused = !run(plan, {codes, scale, zeros, y});
      EXPECT_EQ(faults != 0, refused) << name(x) << " " << zero;
    }
  }
}

}  // namespace
}  // namespace dequant::cuda_kernels_test
