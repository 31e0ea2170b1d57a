// Plans of blocks: random blocks of every type give the results of decode_block() on every target,
// whole and in any ranges, with every output and with ordinary and streaming stores.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "block/traits.h"
#include "block/unpack.h"
#include "dequant/explain.h"
#include "dequant/gguf.h"
#include "dequant/isa.h"
#include "element/reference.h"
#include "support/expect_error.h"
#include "support/forced_target.h"
#include "support/guarded_buffer.h"
#include "support/packed.h"
#include "support/random.h"

namespace dequant::blocks_test {
namespace {

using testing::Bytes;
using testing::bytes_for;
using testing::ForcedTarget;
using testing::GuardedBuffer;
using testing::is_invalid;
using testing::Random;
using testing::succeeds;
using enum Element;

Buffers buffers_of(std::span<const std::byte> x, std::span<std::byte> y,
                   std::span<const std::byte> tensor_scale = {}) {
  Buffers out{x, {}, {}, y};
  out.tensor_scale = tensor_scale;
  return out;
}

/// Random bytes; in every third block only few values, so that scales are zero, infinite or NaN.
Bytes random_blocks(BlockType type, int64_t blocks, Random& random) {
  const auto size = static_cast<size_t>(block_bytes(type));
  constexpr std::array<uint8_t, 7> kSpecial{0, 1, 0x7C, 0xFC, 0x7F, 0x80, 0xFF};
  Bytes x(static_cast<size_t>(blocks) * size);
  random.fill(x);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i / size % 3 == 2) x[i] = std::byte{random.of(kSpecial)};
  }
  return x;
}

/// The elements of one block as float32, by the scalar definition of its codes, scales and offsets:
/// one multiplication for each, and one addition if the type has offsets.
void decode_block(BlockType type, const uint8_t* block, float* y) {
  std::array<int8_t, kMostBlockElements> codes;
  std::array<float, kMostBlockElements / kLeastBlockGroup> scales;
  std::array<float, kMostBlockElements / kLeastBlockGroup> offsets;
  reference_unpack_blocks(type)(block, 1, {codes.data(), scales.data(), offsets.data()});
  const BlockTraits& t = traits(type);
  for (int64_t i = 0; i < t.elements; ++i) {
    const auto group = static_cast<size_t>(i / t.group);
    const float product = static_cast<float>(codes[static_cast<size_t>(i)]) * scales[group];
    y[i] = reference_round(float32, t.has_offsets ? product + offsets[group] : product);
  }
}

struct Case {
  BlockType type;
  Element output;
  std::vector<float> scales;  ///< none, one, or one for each row
  Bytes x;
  Plan plan;
  Bytes want;

  int64_t elements() const { return element_count(plan); }
};

constexpr int64_t kRows = 5;

/// Five rows of a few blocks, and what decode_block() says of them.
Case make_case(BlockType type, Element output, size_t scales, Random& random) {
  constexpr float kScales[] = {0.37F, -3e38F, 1e-44F, 0.0F, INFINITY};
  Case c{type, output, {}, {}, {}, {}};
  for (size_t i = 0; i < scales; ++i) c.scales.push_back(random.of(std::span(kScales)));
  const int64_t blocks = random.in(1, 2 + 2048 / block_elements(type));
  c.x = random_blocks(type, kRows * blocks, random);
  const int64_t shape[] = {kRows, blocks * block_elements(type)};
  c.plan = *gguf::dequantize({.type = type,
                              .shape = shape,
                              .output = output,
                              .has_scale = scales > 0,
                              .scale_per_expert = scales > 1});
  std::vector<uint32_t> codes;
  std::vector<float> y(static_cast<size_t>(block_elements(type)));
  for (int64_t i = 0; i < kRows * blocks; ++i) {
    const auto* block = reinterpret_cast<const uint8_t*>(c.x.data()) + i * block_bytes(type);
    decode_block(type, block, y.data());
    const float scale =
        scales == 0 ? 1 : c.scales[scales == 1 ? 0 : static_cast<size_t>(i / blocks)];
    for (const float v : y) codes.push_back(reference_narrow(output, scales > 0 ? v * scale : v));
  }
  c.want = testing::pack(output, codes);
  return c;
}

Bytes run_case(const Case& c, Range range, Stores stores, size_t misaligned) {
  const Slices slices = slices_of(c.plan, range);
  const Range bytes = x_bytes_of(c.plan, slices.x);
  const auto x_size = static_cast<size_t>(bytes.end - bytes.begin);
  const size_t y_size = bytes_for(c.output, range.end - range.begin);
  // Blocks end where memory ends.
  static const GuardedBuffer input(size_t{1} << 20);
  uint8_t* x = input.before_end(x_size);
  if (x_size != 0) std::memcpy(x, c.x.data() + bytes.begin, x_size);
  Bytes y(y_size + 128);
  const auto address = reinterpret_cast<uintptr_t>(y.data());
  const size_t start = (64 - address % 64) % 64 + misaligned;
  Buffers buffers = buffers_of({reinterpret_cast<const std::byte*>(x), x_size},
                               std::span(y).subspan(start, y_size));
  const auto first = static_cast<size_t>(slices.tensor_scale.begin);
  const auto scales = static_cast<size_t>(slices.tensor_scale.end) - first;
  buffers.tensor_scale = std::as_bytes(std::span(c.scales).subspan(first, scales));
  EXPECT_TRUE(succeeds(run_range(c.plan, range, buffers, {.stores = stores})));
  return {y.begin() + static_cast<ptrdiff_t>(start),
          y.begin() + static_cast<ptrdiff_t>(start + y_size)};
}

Bytes part(const Case& c, Range range) {
  const Range bytes = bytes_of(c.output, range);
  return {c.want.begin() + bytes.begin, c.want.begin() + bytes.end};
}

TEST(Blocks, GiveTheResultsOfTheReferenceOnEveryTarget) {
  Random random(17);
  for (const std::string_view target : targets()) {
    const ForcedTarget forced(target);
    for (const BlockType type : block_types()) {
      for (const Element output : {float32, float16, bfloat16}) {
        for (const size_t scales : {size_t{0}, size_t{1}, size_t{kRows}}) {
          const Case c = make_case(type, output, scales, random);
          const int64_t count = c.elements();
          const int64_t begin = random.in(0, count - 1);
          const Range ranges[] = {{0, count}, {begin, random.in(begin, count)}};
          for (const Range range : ranges) {
            const auto stores = random.coin() ? Stores::streaming : Stores::cached;
            const auto misaligned = static_cast<size_t>(random.in(0, 3) * 16);
            ASSERT_TRUE(run_case(c, range, stores, misaligned) == part(c, range))
                << target << ": " << to_string(c.plan) << " elements " << range.begin << " to "
                << range.end << " at " << misaligned;
          }
        }
      }
    }
  }
}

TEST(Blocks, GiveTheSameInAnyCutsAndByManyThreads) {
  Random random(3);
  for (const BlockType type : {BlockType::Q4_0, BlockType::Q5_K, BlockType::NVFP4}) {
    const int64_t blocks = (int64_t{1} << 20) / block_elements(type);
    Case c{type, float16, {}, random_blocks(type, blocks, random), {}, {}};
    const int64_t shape[] = {blocks * block_elements(type)};
    c.plan = *gguf::dequantize({.type = type, .shape = shape, .output = float16});
    c.want.resize(bytes_for(float16, shape[0]));
    ASSERT_TRUE(succeeds(run(c.plan, buffers_of(c.x, c.want), {sequential_executor()})));
    Bytes y(c.want.size());
    ASSERT_TRUE(succeeds(run(c.plan, buffers_of(c.x, y))));
    EXPECT_TRUE(y == c.want);
    for (int64_t begin = 0; begin < shape[0];) {
      const Range range{begin, std::min(begin + random.in(1, 300'000), shape[0])};
      const Range bytes = x_bytes_of(c.plan, slices_of(c.plan, range).x);
      const auto x = std::span(c.x).subspan(static_cast<size_t>(bytes.begin),
                                            static_cast<size_t>(bytes.end - bytes.begin));
      y.assign(bytes_for(float16, range.end - range.begin), std::byte{1});
      ASSERT_TRUE(succeeds(run_range(c.plan, range, buffers_of(x, y))));
      ASSERT_TRUE(y == part(c, range)) << name(type) << " from " << begin;
      begin = range.end;
    }
  }
}

TEST(Blocks, ExplainTheirWay) {
  const int64_t shape[] = {4096, 4096};
  const auto plan = gguf::dequantize({.type = BlockType::Q4_K, .shape = shape});
  const auto text = explain(*plan, {.stores = Stores::streaming});
  ASSERT_TRUE(succeeds(text));
  EXPECT_TRUE(text->starts_with("blocks, streamed, 64 chunks on ")) << *text;
}

TEST(Blocks, DemandTheirBuffers) {
  const int64_t shape[] = {2, 256};
  const auto plan = gguf::dequantize({.type = BlockType::Q6_K, .shape = shape, .has_scale = true});
  const Bytes x(2 * 210);
  const Bytes scale(4);
  Bytes y(512 * 4);
  const Buffers good = buffers_of(x, y, scale);
  Buffers with_scales = good;
  with_scales.scale = scale;
  const auto refuses = [&](const Buffers& buffers, std::string_view words) {
    EXPECT_TRUE(is_invalid(run(*plan, buffers), words));
  };
  EXPECT_TRUE(succeeds(run(*plan, good)));
  refuses(buffers_of(std::span(x).first(419), y, scale), "x: 419 bytes given, 420");
  refuses(buffers_of(x, y), "tensor_scale");
  refuses(with_scales, "scale: 4 bytes given for a plan");
  refuses(buffers_of(x, std::span(y).first(2047), scale), "y: 2047 bytes given");
  refuses(buffers_of(std::span(y).first(420), y, scale), "overlaps");
}

TEST(Blocks, RefusePlansThatNoDialectMakes) {
  const int64_t shape[] = {2, 256};
  const Plan good = *gguf::dequantize({.type = BlockType::Q4_K, .shape = shape});
  const Bytes x(4096);
  Bytes y(4096);
  const auto refuses = [&](const auto& change, std::string_view words) {
    Plan plan = good;
    change(plan);
    EXPECT_TRUE(is_invalid(run(plan, buffers_of(x, y)), words));
    EXPECT_TRUE(is_invalid(explain(plan), words));
  };
  EXPECT_TRUE(succeeds(run(good, buffers_of(x, y))));
  refuses([](Plan& p) { p.parameters.x_blocks = static_cast<BlockType>(27); }, "27 is no block");
  refuses([](Plan& p) { p.input = int8; }, "Q4_K in an x of int8");
  refuses([](Plan& p) { p.scale = float16; }, "no stored scales of float16");
  refuses([](Plan& p) { p.has_zero_point = true; }, "no zero point");
  refuses([](Plan& p) { p.implicit_zero_point = 8; }, "no zero point");
  refuses([](Plan& p) { p.granularity = Granularity::per_tensor; }, "not blocked");
  refuses([](Plan& p) { p.granularity = Granularity::strided; }, "not blocked");
  refuses([](Plan& p) { p.block = 128; }, "plan.block: 128");
  refuses([](Plan& p) { p.axis = 128; }, "rows of 128");
  refuses([](Plan& p) { p.inner = 2; }, "rows of 256, 2 of each");
  refuses([](Plan& p) { p.outer = -1; }, "-1");
  refuses([](Plan& p) { p.outer = INT64_MAX / 256; }, "more than 2^63 - 1 bytes");
  refuses(
      [](Plan& p) {
        p.outer = INT64_MAX;
        p.axis = 0;
        p.parameters.tensor_scale = TensorScale::multiply;
      },
      "tensor_scale: 9223372036854775807 numbers");
  refuses([](Plan& p) { p.parameters.tensor_scale = TensorScale::divide; }, "no parameter but");
  refuses([](Plan& p) { p.parameters.result_factor = 2; }, "no parameter but");
  refuses([](Plan& p) { p.parameters.codebook = true; }, "no parameter but");
  refuses([](Plan& p) { p.parameters.result_rounding = float16; }, "no parameter but");
  refuses([](Plan& p) { p.rule = Rule::scaled; }, "plan.rule");
}

}  // namespace
}  // namespace dequant::blocks_test
