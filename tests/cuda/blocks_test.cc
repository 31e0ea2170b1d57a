// Vectors of blocks have the codes, scales and offsets of the definitions, and the bits of run() in
// whole tensors; which elements are computed in vectors.
#include "cuda/plan/blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cuda/on_device.h"
#include "cuda/thread/block_thread.h"
#include "dequant/cuda.h"
#include "dequant/gguf.h"
#include "support/random_plan.h"

namespace dequant::cuda_blocks_test {
namespace {

using testing::Bytes;
using testing::bytes_for;
using testing::code_at;
using testing::DeviceMemory;
using testing::pack;
using testing::Random;
using testing::random_cases;
using enum Element;

constexpr std::array kOutputs{float32, float16, bfloat16};

/// The same bits, or both NaN.
::testing::AssertionResult same(float got, float want) {
  const bool equal = cuda::bits_of(got) == cuda::bits_of(want);
  if (equal || (std::isnan(got) && std::isnan(want))) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << got << ", not " << want;
}

template <BlockType kType, int kCount>
void expect_definition(const uint8_t* block) {
  using Codec = block::Codec<kType>;
  using Vectors = cuda::BlockVectors<kType>;
  constexpr BlockTraits kTraits = traits(kType);
  for (int i = 0; i < kTraits.elements; i += kCount) {
    const auto codes = Vectors::template codes<kCount>(block, i);
    for (int j = 0; j < kCount; ++j) {
      const auto want = static_cast<float>(Codec::code(block, i + j));
      ASSERT_TRUE(same(codes[j], want)) << kTraits.name << ": code " << i + j;
    }
    const int g = i / static_cast<int>(kTraits.group);
    ASSERT_TRUE(same(Vectors::scale(block, i), Codec::scale(block, g))) << kTraits.name << i;
    if constexpr (kTraits.has_offsets) {
      ASSERT_TRUE(same(Vectors::offset(block, i), Codec::offset(block, g))) << kTraits.name << i;
    }
  }
}

/// Of blocks of one byte, and of random bytes, in memory of their size.
template <BlockType kType>
void expect_definition() {
  Random random(111);
  for (int n = 0; n < 256 + random_cases(400); ++n) {
    std::vector<uint8_t> block(static_cast<size_t>(block_bytes(kType)), static_cast<uint8_t>(n));
    if (n >= 256) random.fill(block);
    expect_definition<kType, 4>(block.data());
    expect_definition<kType, 8>(block.data());
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(CudaBlocks, VectorsHaveTheCodesScalesAndOffsetsOfTheDefinitions) {
#define DEQUANT_BLOCK(name, ...) ASSERT_NO_FATAL_FAILURE(expect_definition<BlockType::name>());
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
}

/// Tensor scales that make results infinite, subnormal and NaN, and ordinary ones.
constexpr std::array<uint32_t, 10> kFactors{0x3F800000, 0x3DCCCCCD, 0xBF99999A, 0x00000000,
                                            0x80000000, 0x00000001, 0x7F800000, 0xFF800000,
                                            0x7FA00001, 0x7F7FFFFF};

/// Elements of a plan in buffers of which y has its whole vectors at addresses that are aligned to
/// 16 bytes.
struct Part {
  const Plan& plan;
  Range range;
  Buffers all;

  ::testing::AssertionResult is_same() const {
    const Buffers b = testing::slices_of(plan, range, all);
    const auto before = static_cast<size_t>(range.begin * bits(plan.output) / 8 % 16);
    DeviceMemory x(b.x, 0), y(b.y, before), factors(b.tensor_scale, 0);
    const Status status = cuda::devices().run(plan, range,
                                              {.x = x.span(),
                                               .scale = {},
                                               .zero_point = {},
                                               .y = y.span(),
                                               .tensor_scale = factors.span()},
                                              nullptr, nullptr);
    if (!status) return ::testing::AssertionFailure() << status.error().message;
    EXPECT_TRUE(cuda::devices().synchronize(cuda::Stream()));
    Bytes want(b.y.size(), testing::kUntouched);
    Buffers reference = b;
    reference.y = want;
    EXPECT_TRUE(run_range(plan, range, reference));
    const Bytes got = y.bytes();
    if (got == want) return ::testing::AssertionSuccess();
    const auto at = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
    const auto i = at * 8 / bits(plan.output);
    return ::testing::AssertionFailure()
           << to_string(plan) << " from " << range.begin << ": element " << i << " is "
           << code_at(plan.output, got, i) << ", not " << code_at(plan.output, want, i);
  }
};

/// Some rows, whose vectors fill more than one block of threads, and parts of them.
void expect_same_parts(BlockType type, Element output, bool has_factors, Random& random) {
  const int64_t rows = random.in(1, 5);
  const int64_t blocks = (random.in(17000, 26000) / rows + 255) / block_elements(type);
  const std::array shape{rows, blocks * block_elements(type)};
  const auto plan = gguf::dequantize({.type = type,
                                      .shape = shape,
                                      .output = output,
                                      .has_scale = has_factors,
                                      .scale_per_expert = has_factors});
  ASSERT_TRUE(plan) << plan.error().message;
  const auto x = testing::random_bytes(
      random, static_cast<size_t>(rows * blocks) * static_cast<size_t>(block_bytes(type)));
  std::vector<uint32_t> factors(static_cast<size_t>(extents(*plan).tensor_scale));
  for (uint32_t& factor : factors) factor = random.of(kFactors);
  const Bytes tensor_scale = pack(float32, factors);
  const int64_t count = element_count(*plan);
  Bytes y(bytes_for(output, count), testing::kUntouched);
  const Buffers all{.x = x, .scale = {}, .zero_point = {}, .y = y, .tensor_scale = tensor_scale};
  ASSERT_TRUE((Part{*plan, {0, count}, all}.is_same()));
  for (int i = 0; i < 3; ++i) {
    const int64_t begin = random.in(0, count);
    ASSERT_TRUE((Part{*plan, {begin, random.in(begin, count)}, all}.is_same()));
  }
}

TEST(CudaBlocks, GiveTheBitsOfRunInManyVectors) {
  Random random(112);
  for (const BlockType type : block_types()) {
    for (const Element output : kOutputs) {
      for (int i = 0; i < random_cases(4); ++i) {
        ASSERT_NO_FATAL_FAILURE(expect_same_parts(type, output, i % 2 == 1, random));
      }
    }
  }
}

/// A plan of blocks whose addresses are only numbers.
cuda::Computation computation(BlockType type, Range elements, uintptr_t x, uintptr_t y) {
  cuda::Computation p;
  p.block_type = type;
  p.elements = elements;
  p.output = bfloat16;
  p.x.data = reinterpret_cast<const uint8_t*>(x);
  p.y = reinterpret_cast<uint8_t*>(y);
  return p;
}

/// The elements of the launches of a plan: of single ones first, then in vectors.
std::array<std::vector<int64_t>, 2> launches(const cuda::Computation& p) {
  std::array<std::vector<int64_t>, 2> out;
  int64_t next = p.elements.begin;
  EXPECT_TRUE(cuda::for_each_block_launch(
      p,
      [&](const cuda::Computation& single) -> Status {
        EXPECT_EQ(single.elements.begin, next);
        next = single.elements.end;
        out[0].push_back(single.threads);
        return {};
      },
      [&](const cuda::BlockPlan& vectors) -> Status {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(vectors.y),
                  reinterpret_cast<uintptr_t>(p.y) + static_cast<uintptr_t>(next) * 2);
        out[1].push_back(int64_t{vectors.threads} * 32);
        next += out[1].back();
        return {};
      }));
  EXPECT_EQ(next, p.elements.end);
  return out;
}

TEST(CudaBlocks, WholeBlocksOfThreadsComputeVectors) {
  using List = std::vector<int64_t>;
  const auto of = [](BlockType type, Range elements, uintptr_t x, uintptr_t y) {
    return launches(computation(type, elements, x, y));
  };
  EXPECT_EQ(of(BlockType::Q4_K, {0, 8192}, 16, 32)[1], List{8192});
  EXPECT_EQ(of(BlockType::Q4_K, {0, 8192}, 16, 32)[0], List{});
  EXPECT_EQ(of(BlockType::Q4_K, {3, 8192 + 9}, 16, 32)[1], List{8192});
  EXPECT_EQ(of(BlockType::Q4_K, {3, 8192 + 9}, 16, 32)[0], (List{5, 1}));
  EXPECT_EQ(of(BlockType::Q4_K, {0, 4095}, 16, 32)[0], List{4095});
  // More than a launch has.
  const int64_t most = int64_t{1} << 32;
  EXPECT_EQ(of(BlockType::Q4_K, {0, 2 * most + 8192}, 16, 32)[1], (List{most, most, 8192}));
}

TEST(CudaBlocks, AlignedBlocksAndOutputsHaveVectors) {
  const auto has_vectors = [](BlockType type, uintptr_t x, uintptr_t y) {
    return !launches(computation(type, {0, 8192}, x, y))[1].empty();
  };
  EXPECT_FALSE(has_vectors(BlockType::Q4_K, 8, 32));
  EXPECT_FALSE(has_vectors(BlockType::Q4_K, 16, 40));
  EXPECT_TRUE(has_vectors(BlockType::Q5_1, 8, 32));
  EXPECT_FALSE(has_vectors(BlockType::Q5_1, 4, 32));
  EXPECT_TRUE(has_vectors(BlockType::Q6_K, 2, 32));
  EXPECT_FALSE(has_vectors(BlockType::Q6_K, 1, 32));
  EXPECT_TRUE(has_vectors(BlockType::MXFP4, 1, 32));
}

TEST(CudaBlocks, AlignedTensorScalesHaveVectors) {
  cuda::Computation p = computation(BlockType::Q4_K, {0, 8192}, 16, 32);
  p.tensor_scale_use = TensorScale::multiply;
  p.row_elements = 4096;
  p.tensor_scale = reinterpret_cast<const uint8_t*>(uintptr_t{8});
  EXPECT_EQ(launches(p)[1], std::vector<int64_t>{8192});
  p.tensor_scale = reinterpret_cast<const uint8_t*>(uintptr_t{6});
  EXPECT_EQ(launches(p)[0], std::vector<int64_t>{8192});
}

}  // namespace
}  // namespace dequant::cuda_blocks_test
