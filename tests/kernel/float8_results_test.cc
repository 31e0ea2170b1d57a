// Long groups of 8-bit floats, whose results are made once for each scale: every code, at the
// scales where results start to be subnormal, infinite or too large for that.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "element/codes.h"
#include "kernel/kernel_check.h"

namespace dequant::float8_results_test {
namespace {

using enum Element;

/// More elements than the least for which results are made once, and no multiple of the group.
constexpr size_t kCount = 8 * 256 + 37;

std::vector<float> scales() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> all{0.0F, 0.1F, 1.0F, 0x1p-100F, std::numeric_limits<float>::max()};
  const float edges[] = {0x1p-9F,        0x1p-8F,        0x1p-3F,
                         0x1p-2F,        0x1p64F,  // where products become normal in float16
                         65520.0F / 448, 65520.0F / 240, 65520.0F / 57344,
                         65520.0F / 416, 65520.0F / 224, 65520.0F / 49152};
  for (const float edge : edges) {
    for (const float scale :
         {edge, std::nextafter(edge, 0.0F), std::nextafter(edge, kInfinity), edge * 1.37F}) {
      all.push_back(scale);
    }
  }
  for (int exponent = -100; exponent < 127; exponent += 7) {
    all.push_back(std::ldexp(1.2345678F, exponent));
  }
  return all;
}

std::vector<uint8_t> results(const Table& table, Element x, Element y, float scale, bool stream) {
  std::vector<uint8_t> codes(kCount);
  for (size_t i = 0; i < kCount; ++i) codes[i] = static_cast<uint8_t>(i * 37 + i / 256);
  std::vector<uint8_t> bytes(kCount * 2 + kCacheLine);
  const size_t start =
      (kCacheLine - reinterpret_cast<uintptr_t>(bytes.data()) % kCacheLine) % kCacheLine;
  const int32_t zero = 0;
  KernelArgs args{codes.data(), bytes.data() + start, kCount, kCount, &scale, &zero, lut_of(x)};
  args.stream = stream;
  args.finite_normal = testing::all_finite_normal(x, &scale, 1);
  table.at(x, y, ScaleLayout::per_group)(args);
  flush_streams();
  return {bytes.data() + start, bytes.data() + start + kCount * 2};
}

TEST(Float8Results, LongGroupsMatchReferenceBitwiseAtEveryEdgeOfScale) {
  for (const Element x : elements().first(kInputs)) {
    if (kind(x) != Kind::floating || bits(x) < 6) continue;
    for (const Element y : {float16, bfloat16}) {
      for (const float size : scales()) {
        for (const float scale : {size, -size}) {
          const auto want = results(*table_of("reference"), x, y, scale, false);
          for (const std::string_view target : targets()) {
            for (const bool stream : {false, true}) {
              ASSERT_TRUE(results(*table_of(target), x, y, scale, stream) == want)
                  << target << " " << name(x) << " to " << name(y) << ", scale " << scale
                  << (stream ? ", streamed" : "");
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dequant::float8_results_test
