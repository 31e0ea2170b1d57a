// Packed codes against their definition as a number: its digits to the base 256 are the bytes, its
// digits to the base 2^width the codes. The number is kept to the base 1000, so that bits play no
// part in it.
#include "dequant/codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/expect_error.h"
#include "support/guarded_buffer.h"
#include "support/packed.h"
#include "support/print.h"
#include "support/random.h"

namespace dequant::codes_test {
namespace {

using testing::Bytes;
using testing::is_invalid;
using testing::Random;
using testing::succeeds;

constexpr int kWidths[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 32};
constexpr int kSmallWidths[] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr int64_t kMost = 70;
/// Where a range of codes may start, and bytes in memory: all phases of a byte and of eight.
constexpr int64_t kPhases = 8;

class Number {
 public:
  /// this = this * factor + digit.
  void append(uint64_t factor, uint64_t digit) {
    for (uint64_t& d : digits_) {
      digit += d * factor;
      d = digit % kBase;
      digit /= kBase;
    }
    for (; digit != 0; digit /= kBase) digits_.push_back(digit % kBase);
  }

  /// this = this / divisor; returns what is left.
  uint64_t split(uint64_t divisor) {
    uint64_t rest = 0;
    for (size_t i = digits_.size(); i-- > 0;) {
      rest = rest * kBase + digits_[i];
      digits_[i] = rest / divisor;
      rest %= divisor;
    }
    return rest;
  }

 private:
  static constexpr uint64_t kBase = 1000;
  std::vector<uint64_t> digits_;  ///< lowest first
};

using Codes = std::vector<uint32_t>;

/// The first codes of packed bytes.
Codes codes_of(int width, const Bytes& packed, int64_t count) {
  Number number;
  for (size_t k = packed.size(); k-- > 0;) number.append(256, std::to_integer<uint64_t>(packed[k]));
  Codes codes(static_cast<size_t>(count));
  for (uint32_t& code : codes) code = static_cast<uint32_t>(number.split(uint64_t{1} << width));
  return codes;
}

/// So many bytes of packed codes.
Bytes bytes_of(int width, const Codes& codes, size_t size) {
  Number number;
  for (size_t i = codes.size(); i-- > 0;) number.append(uint64_t{1} << width, codes[i]);
  Bytes packed(size);
  for (std::byte& b : packed) b = static_cast<std::byte>(number.split(256));
  return packed;
}

size_t size_of(int width, int64_t count) { return static_cast<size_t>((count * width + 7) / 8); }

Codes random_codes(Random& random, int width, int64_t count) {
  Codes codes(static_cast<size_t>(count));
  for (uint32_t& code : codes) {
    code = static_cast<uint32_t>(random.bits() % (uint64_t{1} << width));
  }
  return codes;
}

/// The low 8 bits of each.
Bytes as_bytes(const Codes& codes) {
  Bytes bytes(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) bytes[i] = static_cast<std::byte>(codes[i]);
  return bytes;
}

/// The same bytes just before memory that may not be touched, or, with an offset, that far from its
/// start.
std::span<std::byte> at_end(const testing::GuardedBuffer& buffer, const Bytes& bytes) {
  auto* copy = reinterpret_cast<std::byte*>(buffer.before_end(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), copy);
  return {copy, bytes.size()};
}

TEST(Codes, WidthsAreThoseOfABitToAByteAndOfWords) {
  for (int width = -1; width <= 64; ++width) {
    const bool known =
        std::find(std::begin(kWidths), std::end(kWidths), width) != std::end(kWidths);
    EXPECT_EQ(is_code_width(width), known) << width;
  }
  for (const Element e : elements()) EXPECT_TRUE(is_code_width(bits(e))) << name(e);
}

TEST(Codes, EachIsLoadedFromItsDigits) {
  Random random(1);
  const testing::GuardedBuffer buffer(4 * kMost);
  for (const int width : kWidths) {
    for (int64_t count = 1; count <= kMost; ++count) {
      const Bytes packed = testing::random_bytes(random, size_of(width, count));
      const auto memory = at_end(buffer, packed);
      const Codes codes = codes_of(width, packed, count);
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(load_code(width, memory.data(), i), codes[static_cast<size_t>(i)])
            << width << " bits, " << i << " of " << count;
      }
    }
  }
}

TEST(Codes, StoringOneChangesItsDigitOnly) {
  Random random(2);
  const testing::GuardedBuffer buffer(4 * kMost);
  for (const int width : kWidths) {
    for (int64_t i = 0; i < kMost; ++i) {
      const size_t size = size_of(width, i + 1);
      Bytes before = testing::random_bytes(random, size);
      const int64_t all = static_cast<int64_t>(size) * 8 / width;
      Codes codes = codes_of(width, before, all);
      // What no code reaches stays.
      const Bytes without = bytes_of(width, codes, size);
      const auto code = static_cast<uint32_t>(random.bits());  // with bits above the width
      codes[static_cast<size_t>(i)] = static_cast<uint32_t>(code % (uint64_t{1} << width));
      Bytes after = bytes_of(width, codes, size);
      after.back() |= before.back() & ~without.back();
      const auto memory = at_end(buffer, before);
      store_code(width, memory.data(), i, code);
      ASSERT_TRUE(std::equal(memory.begin(), memory.end(), after.begin()))
          << width << " bits, " << i;
    }
  }
}

TEST(Codes, AreUnpackedFromAnyIndexOn) {
  Random random(3);
  const testing::GuardedBuffer from(2 * kMost);
  const testing::GuardedBuffer to(2 * kMost);
  for (const int width : kSmallWidths) {
    for (int64_t first = 0; first < 2 * kPhases; ++first) {
      for (int64_t count = 0; count <= kMost; ++count) {
        const Bytes packed = testing::random_bytes(random, size_of(width, first + count));
        const auto memory = at_end(from, packed);
        Codes codes = codes_of(width, packed, first + count);
        codes.erase(codes.begin(), codes.begin() + first);
        const auto out = at_end(to, Bytes(static_cast<size_t>(count), std::byte{0xA5}));
        ASSERT_TRUE(succeeds(unpack_codes(width, memory, first, out)));
        ASSERT_EQ(Bytes(out.begin(), out.end()), as_bytes(codes))
            << width << " bits, " << count << " from " << first;
      }
    }
  }
}

TEST(Codes, ArePackedWithZerosBehindTheLast) {
  Random random(4);
  const testing::GuardedBuffer from(2 * kMost);
  const testing::GuardedBuffer to(2 * kMost);
  for (const int width : kSmallWidths) {
    for (int64_t count = 0; count <= kMost; ++count) {
      const Bytes bytes = testing::random_bytes(random, static_cast<size_t>(count));
      Codes codes(bytes.size());  // bits above the width are left out
      for (size_t i = 0; i < codes.size(); ++i) {
        codes[i] = std::to_integer<uint32_t>(bytes[i]) % (1u << width);
      }
      const Bytes expected = bytes_of(width, codes, size_of(width, count));
      const auto out = at_end(to, Bytes(expected.size(), std::byte{0xA5}));
      ASSERT_TRUE(succeeds(pack_codes(width, at_end(from, bytes), out)));
      ASSERT_EQ(Bytes(out.begin(), out.end()), expected) << width << " bits, " << count;
      // In place, and with room behind them.
      Bytes here = bytes;
      here.resize(bytes.size() + 3, std::byte{0x5A});
      ASSERT_TRUE(succeeds(pack_codes(width, std::span(here).first(bytes.size()), here)));
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), here.begin()));
      ASSERT_EQ(here.back(), std::byte{0x5A});
    }
  }
}

TEST(Codes, MayStandAtAnyAlignment) {
  Random random(5);
  for (const int width : kWidths) {
    const Codes codes = random_codes(random, width, kMost);
    const Bytes packed = bytes_of(width, codes, size_of(width, kMost));
    for (int64_t offset = 0; offset < kPhases; ++offset) {
      Bytes moved(static_cast<size_t>(offset));
      moved.insert(moved.end(), packed.begin(), packed.end());
      const auto memory = std::span(moved).subspan(static_cast<size_t>(offset));
      for (int64_t i = 0; i < kMost; ++i) {
        ASSERT_EQ(load_code(width, memory.data(), i), codes[static_cast<size_t>(i)]);
      }
      if (width > 8) continue;
      Bytes out(codes.size() + static_cast<size_t>(offset));
      const auto bytes = std::span(out).subspan(static_cast<size_t>(offset));
      ASSERT_TRUE(succeeds(unpack_codes(width, memory, 0, bytes)));
      ASSERT_EQ(Bytes(bytes.begin(), bytes.end()), as_bytes(codes));
      Bytes again(moved.size());
      const auto room = std::span(again).subspan(static_cast<size_t>(offset));
      ASSERT_TRUE(succeeds(pack_codes(width, bytes, room)));
      ASSERT_EQ(Bytes(room.begin(), room.end()), packed);
    }
  }
}

TEST(Codes, OfIntegersWithASignBecomeInt8) {
  Random random(6);
  for (const Element e : elements()) {
    if (bits(e) > 8) continue;
    const Bytes packed = testing::random_bytes(random, size_of(bits(e), kMost));
    Codes codes = codes_of(bits(e), packed, kMost);
    const uint32_t half = 1u << (bits(e) - 1);
    for (uint32_t& code : codes) {
      if (kind(e) == Kind::signed_integer && code >= half) code -= 2 * half;
    }
    Bytes out(codes.size());
    ASSERT_TRUE(succeeds(unpack_codes(e, packed, 0, out)));
    EXPECT_EQ(out, as_bytes(codes)) << name(e);
  }
}

TEST(Codes, OfElementsAreThoseOfTheirBits) {
  Random random(7);
  for (const Element e : elements()) {
    const Bytes packed = testing::random_bytes(random, 64);
    Bytes copy(packed.size());
    const int64_t count = 64 * 8 / bits(e);
    const Codes codes = codes_of(bits(e), packed, count);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(load_code(e, packed, i), codes[static_cast<size_t>(i)]) << name(e);
      store_code(e, copy, i, codes[static_cast<size_t>(i)]);
    }
    EXPECT_EQ(copy, bytes_of(bits(e), codes, packed.size())) << name(e);
  }
}

/// onnx.proto: byte0 = x0 | ((x1 & 0x3) << 6); byte1 = (x1 >> 2) | ((x2 & 0xF) << 4);
/// byte2 = (x2 >> 4) | (x3 << 2).
TEST(Codes, FourOfSixBitsLieInThreeBytesAsOnnxSays) {
  const Bytes codes{std::byte{0x15}, std::byte{0x2A}, std::byte{0x33}, std::byte{0x0F}};
  const auto x = [&](size_t i) { return std::to_integer<unsigned>(codes[i]); };
  Bytes packed(3);
  ASSERT_TRUE(succeeds(pack_codes(6, codes, packed)));
  EXPECT_EQ(packed[0], static_cast<std::byte>(x(0) | (x(1) & 0x3) << 6));
  EXPECT_EQ(packed[1], static_cast<std::byte>(x(1) >> 2 | (x(2) & 0xF) << 4));
  EXPECT_EQ(packed[2], static_cast<std::byte>(x(2) >> 4 | x(3) << 2));
}

TEST(Codes, OfOtherWidthsHaveNoByteEach) {
  Bytes memory(64, std::byte{0x77});
  Bytes out(4, std::byte{0x77});
  for (const int width : {-1, 0, 9, 15, 16, 32, 64, INT32_MAX, INT32_MIN}) {
    EXPECT_TRUE(is_invalid(unpack_codes(width, memory, 0, out), "width"));
    EXPECT_TRUE(is_invalid(pack_codes(width, out, memory), "width"));
  }
  for (const Element e : {Element::int16, Element::float32, static_cast<Element>(200)}) {
    EXPECT_TRUE(is_invalid(unpack_codes(e, memory, 0, out), "width"));
  }
  EXPECT_EQ(out, Bytes(4, std::byte{0x77}));
  EXPECT_EQ(memory, Bytes(64, std::byte{0x77}));
}

TEST(Codes, ThatAreNotThereAreRefused) {
  const Bytes packed(3);
  Bytes out(4, std::byte{0x77});
  EXPECT_TRUE(succeeds(unpack_codes(6, packed, 0, out)));
  out.assign(4, std::byte{0x77});
  for (const int64_t first : {int64_t{1}, int64_t{4}, int64_t{1} << 62, INT64_MAX}) {
    EXPECT_TRUE(is_invalid(unpack_codes(6, packed, first, out), "3 bytes do not hold 4 codes"));
  }
  EXPECT_TRUE(is_invalid(unpack_codes(6, packed, -1, out), "first: index -1"));
  EXPECT_TRUE(is_invalid(unpack_codes(Element::int4, packed, 3, out), "3 bytes"));
  Bytes small(2, std::byte{0x77});
  EXPECT_TRUE(is_invalid(pack_codes(6, out, small), "2 bytes do not hold 4 codes of 6 bits"));
  EXPECT_EQ(out, Bytes(4, std::byte{0x77}));
  EXPECT_EQ(small, Bytes(2, std::byte{0x77}));
  EXPECT_TRUE(succeeds(unpack_codes(3, {}, 0, {})));
  EXPECT_TRUE(succeeds(pack_codes(3, {}, {})));
}

}  // namespace
}  // namespace dequant::codes_test
