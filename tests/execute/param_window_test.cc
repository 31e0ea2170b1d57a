// Scales and zero points as the kernels take them: every code of every type, at any stride.
#include "execute/param_window.h"

#include <gtest/gtest.h>

#include "element/codes.h"
#include "support/float_bits.h"
#include "support/packed.h"
#include "support/print.h"

namespace dequant::param_window_test {
namespace {

using testing::Bytes;

/// All codes of an element, or every 9973rd of 32 bits.
std::vector<uint32_t> codes_of(Element element) {
  std::vector<uint32_t> codes;
  const uint64_t end = uint64_t{1} << bits(element);
  for (uint64_t code = 0; code < end; code += bits(element) == 32 ? 9973U : 1U) {
    codes.push_back(static_cast<uint32_t>(code));
  }
  return codes;
}

TEST(LoadScales, GivesTheValueOfEveryCode) {
  for (const Element e : elements()) {
    if (!is_output(e) && e != Element::float8e8m0) continue;
    const auto codes = codes_of(e);
    const Bytes data = testing::pack(e, codes);
    const Plan plan{.scale = e};
    const Buffers buffers{.x = {}, .scale = data, .zero_point = {}, .y = {}};
    for (const int64_t stride : {1, 3, -1}) {
      const auto size = static_cast<int64_t>(codes.size());
      const int64_t first = stride < 0 ? size - 1 : 0;
      const int64_t count = (size - 1) / std::abs(stride) + 1;
      std::vector<float> out(static_cast<size_t>(count));
      load_scales(plan, buffers, first, stride, count, out.data());
      for (int64_t k = 0; k < count; ++k) {
        const float want = float_value(e, codes[static_cast<size_t>(first + k * stride)]);
        const float got = out[static_cast<size_t>(k)];
        const bool same = testing::bits_of(got) == testing::bits_of(want);
        ASSERT_TRUE(same || (want != want && got != got)) << name(e) << " " << k << " " << stride;
      }
    }
  }
}

TEST(LoadZeros, GivesTheNumberOfEveryCode) {
  for (const Element e : elements()) {
    if (!is_input(e) || kind(e) == Kind::floating) continue;
    const auto codes = codes_of(e);
    const Bytes data = testing::pack(e, codes);
    const Plan plan{.input = e, .has_zero_point = true};
    const Buffers buffers{.x = {}, .scale = {}, .zero_point = data, .y = {}};
    for (const int64_t stride : {1, 3}) {
      const int64_t count = (static_cast<int64_t>(codes.size()) - 1) / stride + 1;
      std::vector<int32_t> out(static_cast<size_t>(count));
      load_zeros(plan, buffers, 0, stride, count, out.data());
      for (int64_t k = 0; k < count; ++k) {
        const int64_t want = integer_value(e, codes[static_cast<size_t>(k * stride)]);
        const auto got = static_cast<uint32_t>(out[static_cast<size_t>(k)]);
        ASSERT_EQ(got, static_cast<uint32_t>(want)) << name(e) << " " << k;
      }
    }
  }
}

TEST(LoadZeros, OfAPlanWithoutZeroPointsAreTheImplicitOne) {
  int32_t out[3] = {1, 2, 3};
  load_zeros({.implicit_zero_point = 128}, {}, 0, 1, 3, out);
  for (const int32_t zero : out) EXPECT_EQ(zero, 128);
}

}  // namespace
}  // namespace dequant::param_window_test
