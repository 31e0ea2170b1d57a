// Layouts of codes, code by code: slow, and simple enough to check by reading.
#include <cstring>
#include <utility>

#include "element/codes.h"
#include "element/float8_of.h"
#include "kernel/reference_kernels.h"

namespace dequant {
namespace {

constexpr size_t kWordBits = 32;

uint32_t word_at(const uint8_t* from, size_t i) {
  uint32_t word = 0;
  std::memcpy(&word, from + i * sizeof word, sizeof word);
  return word;
}

uint32_t low_bits(uint32_t word, int count) { return word & ((uint32_t{1} << count) - 1); }

template <int kBits>
void unpack_stream(const uint8_t* from, size_t, size_t count, uint8_t* to) {
  const auto* data = reinterpret_cast<const std::byte*>(from);
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<uint8_t>(load_code(kBits, data, static_cast<int64_t>(i)));
  }
}

template <int kBits>
void unpack_words(const uint8_t* from, size_t, size_t count, uint8_t* to) {
  constexpr size_t kInWord = kWordBits / kBits;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t word = word_at(from, i / kInWord) >> (i % kInWord * kBits);
    to[i] = static_cast<uint8_t>(low_bits(word, kBits));
  }
}

template <int kBits>
void unpack_planes(const uint8_t* from, size_t, size_t count, uint8_t* to) {
  const auto* data = reinterpret_cast<const std::byte*>(from);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* plane_data = data + i / kWordBits * kBits * sizeof(uint32_t);
    uint32_t code = 0;
    int done = 0;
    for (const int plane : {4, 2, 1}) {
      if ((kBits & plane) == 0) continue;
      code |= load_code(plane, plane_data, static_cast<int64_t>(i % kWordBits)) << done;
      plane_data += static_cast<size_t>(plane) * sizeof(uint32_t);
      done += plane;
    }
    to[i] = static_cast<uint8_t>(code);
  }
}

/// Codes 0, 2, 4, 6, 1, 3, 5, 7 of each eight.
void unpack_interleaved(const uint8_t* from, size_t, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    const auto shift = static_cast<int>(i % 2 * 16 + i % 8 / 2 * 4);
    to[i] = static_cast<uint8_t>(low_bits(word_at(from, i / 8) >> shift, 4));
  }
}

void unpack_high_first(const uint8_t* from, size_t, size_t count, uint8_t* to) {
  for (size_t i = 0; i < count; ++i) {
    to[i] = static_cast<uint8_t>(i % 2 == 0 ? from[i / 2] >> 4 : from[i / 2] & 15);
  }
}

void unpack_float4(const uint8_t* from, size_t bytes, size_t count, uint8_t* to) {
  unpack_stream<4>(from, bytes, count, to);
  constexpr auto kValues = float8_of<Element::float4e2m1>();
  for (size_t i = 0; i < count; ++i) to[i] = kValues[to[i]];
}

void fields_of_bytes(const FieldArgs& a) {
  for (size_t i = 0; i < a.count; ++i) {
    a.to[i] = static_cast<uint8_t>(low_bits(uint32_t{a.from[i]} >> a.shift, a.bits));
  }
}

void fields_of_words(const FieldArgs& a) {
  for (size_t i = 0; i < a.count; ++i) {
    a.to[i] = static_cast<uint8_t>(low_bits(word_at(a.from, i) >> a.shift, a.bits));
  }
}

void split_nibbles(const uint8_t* from, size_t count, uint8_t* low, uint8_t* high) {
  for (size_t i = 0; i < count; i += 2) {
    const unsigned pair = from[i] | (i + 1 < count ? from[i + 1] : 0U) << 8;
    low[i / 2] = static_cast<uint8_t>((pair & 0xF) | (pair >> 4 & 0xF0));
    high[i / 2] = static_cast<uint8_t>((pair >> 4 & 0xF) | (pair >> 8 & 0xF0));
  }
}

void bytes_of_words(const uint8_t* from, size_t count, uint8_t* to) {
  for (size_t i = 0; i < 4 * count; ++i) to[i % 4 * count + i / 4] = from[i];
}

template <int... kWidth>
void fill_widths(Helpers& helpers, std::integer_sequence<int, kWidth...>) {
  ((helpers.unpack_stream[kWidth + 1] = unpack_stream<kWidth + 1>), ...);
  ((helpers.unpack_words[kWidth + 1] = unpack_words<kWidth + 1>), ...);
}

}  // namespace

void fill_reference_unpacking(Helpers& helpers) {
  fill_widths(helpers, std::make_integer_sequence<int, kMostCodeBits>{});
  helpers.unpack_planes[3] = unpack_planes<3>;
  helpers.unpack_planes[5] = unpack_planes<5>;
  helpers.unpack_planes[6] = unpack_planes<6>;
  helpers.unpack_planes[7] = unpack_planes<7>;
  helpers.unpack_interleaved = unpack_interleaved;
  helpers.unpack_high_first = unpack_high_first;
  helpers.unpack_float4 = unpack_float4;
  helpers.fields_of_bytes = fields_of_bytes;
  helpers.fields_of_words = fields_of_words;
  helpers.split_nibbles = split_nibbles;
  helpers.bytes_of_words = bytes_of_words;
}

}  // namespace dequant
