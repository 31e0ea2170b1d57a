// The helpers of layouts, of every target against those of the reference, on guarded memory.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "dequant/isa.h"
#include "kernel/targets.h"
#include "support/guarded_buffer.h"
#include "support/packing.h"
#include "support/print.h"

namespace dequant::unpack_test {
namespace {

using testing::GuardedBuffer;
using testing::Random;
using enum CodeOrder;

constexpr size_t kMost = 400;

class Unpacking : public ::testing::Test {
 protected:
  /// Counts of codes, all small ones, from random bytes that end at the guard page, with and
  /// without more bytes behind those of the codes.
  void expect_codes(UnpackFn unpack, const Packing& packing) {
    for (size_t count = 1; count <= kMost; count += count < 70 ? 1 : 17) {
      for (const size_t more : {size_t{0}, size_t{4}, size_t{40}}) {
        Packing one_row = packing;
        const auto codes = static_cast<int64_t>(count);
        if (packing.order != high_first) {
          one_row.row = packing.order == planes ? (codes + 31) / 32 * 32 : codes;
        }
        const size_t bytes = testing::bytes_for(one_row, codes) + more;
        testing::Bytes data = testing::random_bytes(random_, bytes);
        uint8_t* from = from_.before_end(bytes);
        std::memcpy(from, data.data(), bytes);
        uint8_t* to = to_.before_end(count + Helpers::kUnpackSlack);
        unpack(from, bytes, count, to);
        for (size_t i = 0; i < count; ++i) {
          ASSERT_EQ(to[i], testing::code_at(one_row, data, static_cast<int64_t>(i)))
              << "code " << i << " of " << count << ", " << packing.bits << " bits";
        }
      }
    }
  }

  Random random_{11};
  GuardedBuffer from_{kMost * 2};
  GuardedBuffer to_{kMost * 2};
  GuardedBuffer more_{kMost};
};

TEST_F(Unpacking, GivesTheCodesOfEveryLayoutOnEveryTarget) {
  for (const std::string_view target : targets()) {
    SCOPED_TRACE(std::string(target));
    const Helpers& helpers = table_of(target)->helpers;
    for (int32_t bits = 1; bits <= 8; ++bits) {
      const auto b = static_cast<size_t>(bits);
      ASSERT_NO_FATAL_FAILURE(
          expect_codes(helpers.unpack_stream[b], {.order = stream, .bits = bits}));
      ASSERT_NO_FATAL_FAILURE(
          expect_codes(helpers.unpack_words[b], {.order = words, .bits = bits}));
      const bool has_planes = bits == 3 || (bits >= 5 && bits <= 7);
      ASSERT_EQ(helpers.unpack_planes[b] != nullptr, has_planes);
      if (!has_planes) continue;
      ASSERT_NO_FATAL_FAILURE(
          expect_codes(helpers.unpack_planes[b], {.order = planes, .bits = bits}));
    }
    ASSERT_NO_FATAL_FAILURE(
        expect_codes(helpers.unpack_interleaved, {.order = interleaved, .bits = 4}));
    ASSERT_NO_FATAL_FAILURE(
        expect_codes(helpers.unpack_high_first, {.order = high_first, .bits = 4}));
  }
}

TEST_F(Unpacking, GivesTheValuesOfFloat4AsFloat8) {
  // The codes of 0, 0.5, 1, 1.5, 2, 3, 4 and 6 in float8e4m3fn; the highest bit is the sign.
  constexpr std::array<uint8_t, 8> kCodes{0x00, 0x30, 0x38, 0x3C, 0x40, 0x44, 0x48, 0x4C};
  for (const std::string_view target : targets()) {
    for (size_t count = 1; count <= kMost; count += count < 140 ? 1 : 17) {
      for (const size_t more : {size_t{0}, size_t{3}, size_t{64}}) {
        const size_t bytes = (count + 1) / 2 + more;
        const testing::Bytes data = testing::random_bytes(random_, bytes);
        uint8_t* from = from_.before_end(bytes);
        std::memcpy(from, data.data(), bytes);
        uint8_t* to = to_.before_end(count + Helpers::kUnpackSlack);
        table_of(target)->helpers.unpack_float4(from, bytes, count, to);
        for (size_t i = 0; i < count; ++i) {
          const unsigned code = from[i / 2] >> i % 2 * 4 & 15;
          ASSERT_EQ(to[i], kCodes[code & 7] | (code & 8) << 4) << target << " code " << i;
        }
      }
    }
  }
}

TEST_F(Unpacking, GivesTheFieldsOfBytesAndWords) {
  for (const std::string_view target : targets()) {
    const Helpers& helpers = table_of(target)->helpers;
    for (const size_t size : {size_t{1}, size_t{4}}) {
      for (int bits = 1; bits <= 8; ++bits) {
        for (int shift = 0; shift + bits <= static_cast<int>(size) * 8; ++shift) {
          for (const size_t count : {1U, 3U, 8U, 31U, 64U, 77U}) {
            const testing::Bytes data = testing::random_bytes(random_, count * size);
            uint8_t* from = from_.before_end(data.size());
            std::memcpy(from, data.data(), data.size());
            uint8_t* to = to_.before_end(count + Helpers::kUnpackSlack);
            const auto fields = size == 1 ? helpers.fields_of_bytes : helpers.fields_of_words;
            fields({from, count, shift, bits, to});
            for (size_t i = 0; i < count; ++i) {
              uint32_t word = 0;
              std::memcpy(&word, from + i * size, size);
              ASSERT_EQ(to[i], word >> shift & ((1U << bits) - 1))
                  << target << " " << bits << " bits from " << shift << " of " << size;
            }
          }
        }
      }
    }
  }
}

TEST_F(Unpacking, SplitsNibbles) {
  const testing::Bytes data = testing::random_bytes(random_, kMost);
  for (const std::string_view target : targets()) {
    for (size_t count = 1; count <= kMost; ++count) {
      uint8_t* from = from_.before_end(count);
      std::memcpy(from, data.data(), count);
      uint8_t* low = to_.before_end((count + 1) / 2);
      uint8_t* high = more_.before_end((count + 1) / 2);
      table_of(target)->helpers.split_nibbles(from, count, low, high);
      for (size_t i = 0; i < (count + 1) / 2 * 2; ++i) {
        const unsigned byte = i < count ? from[i] : 0;
        ASSERT_EQ(low[i / 2] >> i % 2 * 4 & 15, byte & 15) << target << " byte " << i;
        ASSERT_EQ(high[i / 2] >> i % 2 * 4 & 15, byte >> 4) << target << " byte " << i;
      }
    }
  }
}

TEST_F(Unpacking, GivesTheBytesOfWords) {
  for (const std::string_view target : targets()) {
    for (size_t count = 1; count <= 200; ++count) {
      const testing::Bytes data = testing::random_bytes(random_, 4 * count);
      uint8_t* from = from_.before_end(data.size());
      std::memcpy(from, data.data(), data.size());
      uint8_t* to = to_.before_end(data.size());
      table_of(target)->helpers.bytes_of_words(from, count, to);
      for (size_t i = 0; i < data.size(); ++i) {
        ASSERT_EQ(to[i % 4 * count + i / 4], from[i]) << target << " " << count << " words";
      }
    }
  }
}

}  // namespace
}  // namespace dequant::unpack_test
