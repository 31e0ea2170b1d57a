// Every way through a chunk, with scales that let kernels take their short ways and with one that
// does not: all targets and both kinds of stores give what the reference gives, wherever y starts.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>

#include "dequant/isa.h"
#include "dequant/plan.h"
#include "dequant/tensor.h"
#include "support/forced_target.h"
#include "support/packed.h"
#include "support/random.h"

namespace dequant::ways_test {
namespace {

using testing::Bytes;
using testing::ForcedTarget;
using testing::Random;
using enum Element;

/// A view and how it shares scales; each takes another way.
struct Way {
  const char* what;
  Granularity granularity;
  int64_t outer, axis, inner;
  int64_t block = 1;
};

constexpr Way kWays[] = {
    {"one scale", Granularity::per_tensor, 1, 1, 5003},
    {"short rows that repeat", Granularity::per_axis, 700, 7, 1},
    {"rows of 64 that repeat", Granularity::per_axis, 90, 64, 1},
    {"rows that repeat too late", Granularity::per_axis, 4, 1201, 1},
    {"rows of more than a window", Granularity::per_axis, 2, 5001, 1},
    {"rows of several tiles", Granularity::per_axis, 3, 4500, 1},
    {"many long rows that repeat", Granularity::per_axis, 9, 2208, 1},
    {"many long rows of a block", Granularity::blocked, 1, 11, 2208, 7},
    {"short channels that repeat", Granularity::per_axis, 300, 5, 3},
    {"many short channels", Granularity::per_axis, 1, 1700, 3},
    {"channels that nearly fill a vector", Granularity::per_axis, 1, 340, 15},
    {"odd channels", Granularity::per_axis, 2, 40, 49},
    {"channels of more than a group", Granularity::per_axis, 2, 21, 200},
    {"channels of many groups", Granularity::per_axis, 2, 5, 640},
    {"long odd channels", Granularity::per_axis, 1, 3, 2601},
    {"blocks of 16", Granularity::blocked, 5, 960, 1, 16},
    {"more blocks than are loaded at once", Granularity::blocked, 9, 1600, 1, 16},
    {"blocks of 32", Granularity::blocked, 5, 960, 1, 32},
    {"blocks of 128", Granularity::blocked, 5, 1024, 1, 128},
    {"blocks of 32 and a shorter one", Granularity::blocked, 5, 970, 1, 32},
    {"odd blocks", Granularity::blocked, 5, 970, 1, 24},
    {"blocks of 1", Granularity::blocked, 1, 5000, 1, 1},
    {"short rows of a block", Granularity::blocked, 20, 10, 6, 4},
    {"long rows of a block", Granularity::blocked, 2, 7, 701, 3},
    {"rows of a block of several tiles", Granularity::blocked, 1, 5, 2500, 3},
};

Plan plan_of(const Way& way, Element x, Element scale, Element y) {
  return {.input = x,
          .scale = scale,
          .output = y,
          .has_zero_point = kind(x) != Kind::floating,
          .granularity = way.granularity,
          .outer = way.outer,
          .axis = way.axis,
          .inner = way.inner,
          .block = way.block};
}

Bytes random_bytes(Random& random, Element element, int64_t count) {
  Bytes bytes(static_cast<size_t>(packed_bytes(element, count).value()));
  for (std::byte& b : bytes) b = static_cast<std::byte>(random.bits());
  return bytes;
}

/// Scales from 2^-8 to 2^-1, zeros among them; if `odd`, one is a NaN, infinite or tiny.
Bytes random_scales(Random& random, Element element, int64_t count, bool odd) {
  std::vector<uint32_t> codes;
  for (int64_t i = 0; i < count; ++i) {
    const double value = random.in(0, 30) == 0
                             ? 0.0
                             : std::ldexp(1.0 + static_cast<double>(random.in(0, 1023)) / 1024,
                                          static_cast<int>(random.in(-8, -1)));
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    // Ten bits of mantissa and so small an exponent are exact in float16.
    const auto half = value == 0 ? 0 : (bits - ((127u - 15u) << 23)) >> 13;
    codes.push_back(element == float32 ? bits : half);
  }
  const uint32_t wide[] = {0x7FC12345, 0xFF800000, 0x00000007, 0x80012345};
  const uint32_t narrow[] = {0x7E01, 0xFC00, 0x0001, 0x83FF};
  const auto kind = static_cast<size_t>(random.in(0, 3));
  if (odd) {
    codes[static_cast<size_t>(random.in(0, count - 1))] =
        element == float32 ? wide[kind] : narrow[kind];
  }
  return testing::pack(element, codes);
}

void expect_same_everywhere(const Way& way, const Plan& plan, Random& random, bool odd) {
  const Extents e = extents(plan);
  const Bytes x = random_bytes(random, plan.input, e.x);
  const Bytes zero = random_bytes(random, plan.input, e.zero_point);
  const Bytes scale = random_scales(random, plan.scale, e.scale, odd);
  const auto y_bytes = static_cast<size_t>(packed_bytes(plan.output, e.y).value());
  const auto dequantize = [&](std::string_view target, size_t at, Stores stores) {
    const ForcedTarget forced(target);
    Bytes memory(y_bytes + 128, std::byte{0xA5});
    const size_t line = (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    const std::span y = std::span(memory).subspan(line + at, y_bytes);
    EXPECT_TRUE(run(plan, {x, scale, zero, y}, {.executor = {}, .stores = stores}));
    return Bytes(y.begin(), y.end());
  };
  const Bytes want = dequantize("reference", 0, Stores::cached);
  for (const std::string_view target : targets()) {
    for (const size_t at : {0u, 2u, 16u, 60u}) {
      if (at % (static_cast<size_t>(bits(plan.output)) / 8) != 0) continue;
      for (const Stores stores : {Stores::cached, Stores::streaming}) {
        ASSERT_TRUE(dequantize(target, at, stores) == want)
            << way.what << ": " << to_string(plan) << " on " << target << ", y at " << at
            << (stores == Stores::streaming ? ", streamed" : "") << (odd ? ", an odd scale" : "");
      }
    }
  }
}

TEST(Ways, GiveTheBitsOfTheReferenceWhereverYStarts) {
  Random random(11);
  size_t i = 0;
  for (const Way& way : kWays) {
    ++i;
    for (const Element x : elements()) {
      if (!is_input(x)) continue;
      // All outputs meet all ways, each with some of the inputs.
      const Element y = std::array{float32, float16, bfloat16}[i++ % 3];
      const Element scale = random.coin() ? float32 : float16;
      for (const bool odd : {false, true}) {
        expect_same_everywhere(way, plan_of(way, x, scale, y), random, odd);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Rows may take these scales as they are stored, but for the last ones and for odd ones.
TEST(Ways, GiveThemWithAFloat16ScaleForEachElement) {
  Random random(12);
  for (const Way& way : {Way{"short rows of blocks of 1", Granularity::blocked, 4, 301, 1},
                         Way{"rows of blocks of 1", Granularity::blocked, 3, 1207, 1},
                         Way{"a long row of blocks of 1", Granularity::blocked, 1, 9000, 1}}) {
    for (const Element x : elements()) {
      if (!is_input(x)) continue;
      for (const bool odd : {false, true}) {
        expect_same_everywhere(way, plan_of(way, x, float16, float16), random, odd);
        if (HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace dequant::ways_test
