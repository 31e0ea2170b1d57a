// The helper functions of every target against those of the reference, on guarded memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <vector>

#include "dequant/isa.h"
#include "element/codes.h"
#include "kernel/targets.h"
#include "support/float_bits.h"
#include "support/guarded_buffer.h"
#include "support/print.h"
#include "support/random.h"

namespace dequant::helpers_test {
namespace {

using testing::GuardedBuffer;
using testing::Random;

constexpr size_t kMost = 200;

class HelpersOfTargets : public ::testing::Test {
 protected:
  /// Calls check(helpers of a target, helpers of the reference) for each target.
  template <class Check>
  void each(const Check& check) {
    for (const std::string_view target : targets()) {
      SCOPED_TRACE(std::string(target));
      check(table_of(target)->helpers, table_of("reference")->helpers);
      if (HasFatalFailure()) return;
    }
  }

  /// Random bytes that end at the guard page.
  uint8_t* random_bytes(size_t size) {
    uint8_t* bytes = from_.before_end(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(random_.bits());
    return bytes;
  }

  Random random_{7};
  GuardedBuffer from_{kMost * 8};
  GuardedBuffer to_{kMost * 8};
  GuardedBuffer want_{kMost * 8};
};

TEST_F(HelpersOfTargets, AllPlainFindsTheOneThatIsNot) {
  each([&](const Helpers& helpers, const Helpers&) {
    for (size_t count = 1; count <= 70; ++count) {
      auto* values = reinterpret_cast<float*>(from_.before_end(count * 4));
      std::fill_n(values, count, 0.5F);
      for (const bool zero_too : {false, true}) {
        ASSERT_TRUE(helpers.all_finite_normal(values, count, zero_too));
        for (const uint32_t odd : {0x7FC00000u, 0xFF800000u, 0x00000001u, 0x80000000u, 0u,
                                   kLeastFiniteNormal - 1, kLeastFiniteNormal, 0x7F7FFFFFu}) {
          const auto at = static_cast<size_t>(random_.in(0, static_cast<int64_t>(count) - 1));
          values[at] = testing::float_of(odd);
          ASSERT_EQ(helpers.all_finite_normal(values, count, zero_too),
                    is_finite_normal(values[at], zero_too))
              << odd << " at " << at << " of " << count;
          values[at] = 0.5F;
        }
      }
    }
  });
}

TEST_F(HelpersOfTargets, RepeatGivesEachValueItsGroup) {
  std::vector<size_t> groups{100, 128, 199, 5000, Helpers::kMostRepeated, size_t{1} << 40};
  for (size_t group = 2; group <= 70; ++group) groups.push_back(group);
  GuardedBuffer more_from{kMost * 4};
  GuardedBuffer more_to{kMost * 8};
  each([&](const Helpers& helpers, const Helpers& reference) {
    for (const size_t group : groups) {
      for (const size_t count : {size_t{1}, std::min(group, kMost), size_t{64}, kMost - 1}) {
        // The offset in the first group matters most near the end of that group.
        const auto near = static_cast<int64_t>(std::min(group, 2 * kMost));
        const size_t into = group - static_cast<size_t>(random_.in(1, near));
        const size_t values = (into + count + group - 1) / group;
        const auto* from = reinterpret_cast<const uint32_t*>(random_bytes(values * 4));
        auto* other = reinterpret_cast<uint32_t*>(more_from.before_end(values * 4));
        for (size_t i = 0; i < values; ++i) other[i] = ~from[i];
        const auto words = [&](GuardedBuffer& buffer) {
          return reinterpret_cast<uint32_t*>(buffer.before_end((count + Helpers::kSlack) * 4));
        };
        auto* want = reinterpret_cast<uint32_t*>(want_.begin());
        const Helpers::Spread wanted{from, want};
        reference.repeat(&wanted, 1, group, into, count);
        const Helpers::Spread params[]{{from, words(to_)}, {other, words(more_to)}};
        for (const size_t how_many : {1u, 2u}) {
          helpers.repeat(params, how_many, group, into, count);
          ASSERT_EQ(std::memcmp(params[0].out, want, count * 4), 0)
              << count << " in groups of " << group << ", " << into << " into the first";
        }
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(params[1].out[i], ~want[i]);
      }
    }
  });
}

TEST_F(HelpersOfTargets, RepeatOfTheReferenceIsADivision) {
  const uint32_t values[] = {10, 20, 30, 40};
  uint32_t out[9];
  const Helpers::Spread params{values, out};
  table_of("reference")->helpers.repeat(&params, 1, 3, 2, std::size(out));
  const uint32_t want[] = {10, 20, 20, 20, 30, 30, 30, 40, 40};
  ASSERT_TRUE(std::equal(std::begin(out), std::end(out), want));
}

TEST_F(HelpersOfTargets, WidenGivesTheNumberOfEveryCode) {
  each([&](const Helpers& helpers, const Helpers& reference) {
    for (const Element x : elements().first(kInputs)) {
      const bool small = kind(x) != Kind::floating && bits(x) <= 16;
      ASSERT_EQ(helpers.widen[static_cast<size_t>(x)] != nullptr, small) << name(x);
      if (!small) continue;
      for (size_t count = 1; count <= kMost; ++count) {
        const uint8_t* from = random_bytes((count * static_cast<size_t>(bits(x)) + 7) / 8);
        auto* to = reinterpret_cast<int32_t*>(to_.before_end(count * 4));
        auto* want = reinterpret_cast<int32_t*>(want_.begin());
        helpers.widen[static_cast<size_t>(x)](from, count, to);
        reference.widen[static_cast<size_t>(x)](from, count, want);
        ASSERT_EQ(std::memcmp(to, want, count * 4), 0) << count << " of " << name(x);
      }
    }
  });
}

TEST_F(HelpersOfTargets, WidenGivesTheValueOfEveryFloatOf16Bits) {
  each([&](const Helpers& helpers, const Helpers& reference) {
    const auto check = [&](auto widen, auto reference_widen) {
      for (uint32_t code = 0; code < 0x10000; code += kMost) {
        uint8_t* from = from_.before_end(kMost * 2);
        for (size_t i = 0; i < kMost; ++i) {
          const auto c = static_cast<uint16_t>(code + i);
          std::memcpy(from + 2 * i, &c, sizeof c);
        }
        auto* to = reinterpret_cast<float*>(to_.before_end(kMost * 4));
        auto* want = reinterpret_cast<float*>(want_.begin());
        widen(from, kMost, to);
        reference_widen(from, kMost, want);
        for (size_t i = 0; i < kMost; ++i) {
          const bool same = testing::bits_of(to[i]) == testing::bits_of(want[i]);
          ASSERT_TRUE(same || (std::isnan(to[i]) && std::isnan(want[i]))) << code + i;
        }
      }
    };
    check(helpers.widen_float16, reference.widen_float16);
    check(helpers.widen_bfloat16, reference.widen_bfloat16);
  });
}

TEST_F(HelpersOfTargets, AllPlain16FindsTheOneThatIsNot) {
  each([&](const Helpers& helpers, const Helpers&) {
    if (helpers.all_finite_normal16 == nullptr) return;
    for (size_t count = 1; count <= 70; ++count) {
      auto* codes = reinterpret_cast<uint16_t*>(from_.before_end(count * 2));
      std::fill_n(codes, count, uint16_t{0x3800});
      for (const bool zero_too : {false, true}) {
        ASSERT_TRUE(helpers.all_finite_normal16(codes, count, zero_too));
        for (uint32_t odd = 0; odd < 0x10000; odd += count == 33 ? 1 : 0x3FF) {
          const auto at = static_cast<size_t>(random_.in(0, static_cast<int64_t>(count) - 1));
          codes[at] = static_cast<uint16_t>(odd);
          ASSERT_EQ(helpers.all_finite_normal16(codes, count, zero_too),
                    is_finite_normal(float_value(Element::float16, odd), zero_too))
              << odd << " at " << at << " of " << count;
          codes[at] = 0x3800;
        }
      }
    }
  });
}

TEST_F(HelpersOfTargets, NarrowZerosGivesTheNumberOfEveryCode) {
  each([&](const Helpers& helpers, const Helpers& reference) {
    for (const Element x : elements().first(kInputs)) {
      const auto narrow = helpers.narrow_zeros[static_cast<size_t>(x)];
      if (narrow == nullptr || kind(x) == Kind::floating) continue;
      for (size_t count = 1; count <= kMost; ++count) {
        const uint8_t* from = random_bytes((count * static_cast<size_t>(bits(x)) + 7) / 8);
        auto* to = reinterpret_cast<int16_t*>(to_.before_end((count + Helpers::kNarrowSlack) * 2));
        auto* want = reinterpret_cast<int32_t*>(want_.begin());
        narrow(from, count, to);
        reference.widen[static_cast<size_t>(x)](from, count, want);
        ASSERT_TRUE(std::equal(to, to + count, want)) << count << " of " << name(x);
      }
    }
  });
}

TEST_F(HelpersOfTargets, StreamCopiesWhatItIsGivenAndNoMore) {
  each([&](const Helpers& helpers, const Helpers&) {
    for (size_t size = 0; size <= 300; size += 7) {
      for (size_t offset = 0; offset < 64; offset += 3) {
        const uint8_t* from = random_bytes(size);
        to_.fill(0xA5);
        helpers.stream(from, to_.begin() + offset, size);
        flush_streams();
        ASSERT_TRUE(std::equal(from, from + size, to_.begin() + offset)) << size << " " << offset;
        ASSERT_EQ(to_.begin()[offset + size], 0xA5);
        ASSERT_TRUE(offset == 0 || to_.begin()[offset - 1] == 0xA5);
      }
    }
  });
}

}  // namespace
}  // namespace dequant::helpers_test
