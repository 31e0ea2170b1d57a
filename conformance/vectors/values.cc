// Lists of codes, each float code with its value.
#include "conformance/vectors/values.h"

#include <algorithm>
#include <iterator>

namespace dequant::conformance::vectors {
namespace {

using enum Element;

constexpr uint32_t kSmallest = 1;  // the smallest subnormal of any float

constexpr uint64_t kFloat32Scales[]{
    0x00000000, 0x80000000,              // +0, -0
    kSmallest,  0x80000001, 0x007FFFFF,  // 2^-149, its negative, the largest subnormal
    0x00800000, 0x7F7FFFFF, 0xFF7FFFFF,  // the smallest normal, the largest numbers
    0x7F800000, 0xFF800000,              // infinities
    0x7FC00000, 0xFFC12345, 0x7F800001,  // NaNs: quiet, with sign and payload, signalling
    0x3F800000, 0xBF800000, 0x3DCCCCCD,  // 1, -1, 0.1
    0x3F801000, 0x3F803000, 0x3F801001,  // float16: ties 1 + 2^-11 and 1 + 3 * 2^-11, beyond a tie
    0x33000000, 0x33400000, 0x33000001,  // 2^-25, a tie with 0; 3 * 2^-26; beyond the tie
    0x33C00000, 0x387FE000,              // 3 * 2^-25, a tie of subnormals; one with 2^-14
    0x477FE000, 0x477FEFFF, 0x477FF000,  // 65504, the last below the tie with infinity, the tie
    0x3F808000, 0x3F818000, 0x3F808001,  // bfloat16: ties 1 + 2^-8 and 1 + 3 * 2^-8, beyond a tie
    0x00008000, 0x00008001, 0x00018000,  // 2^-134, a tie with 0; beyond it; a tie of subnormals
    0x7F7F7FFF, 0x7F7F8000,              // the last below the tie with infinity, the tie
    0x3EAAEAAA, 0x3EAB1556,  // thrice these is beside a tie of float16, and the tie once
    0x3EAB5556, 0x3EACAAAA,  // float32 rounded it; the same for bfloat16
};
constexpr uint64_t kFloat16Scales[]{
    0x0000, 0x8000, kSmallest, 0x8001, 0x03FF, 0x0400,  // zeros, subnormals, the smallest normal
    0x7BFF, 0xFBFF, 0x7C00,    0xFC00,                  // the largest numbers, infinities
    0x7E00, 0xFE01, 0x7D01,                             // NaNs: quiet, with payload, signalling
    0x3C00, 0xBC00, 0x2E66,                             // 1, -1, 0.1
    0x3C04, 0x3C0C, 0x3C05,                             // bfloat16: two ties, beyond a tie
    0x3FAE, 0x3DED,                                     // times 0x7FE7 and 0x7FCA as above
};
constexpr uint64_t kBfloat16Scales[]{
    0x0000, 0x8000, kSmallest, 0x8001, 0x007F, 0x0080,  // zeros, subnormals, the smallest normal
    0x7F7F, 0xFF7F, 0x7F80,    0xFF80,                  // the largest numbers, infinities
    0x7FC0, 0xFFC1, 0x7F81,                             // NaNs: quiet, with payload, signalling
    0x3F80, 0xBF80, 0x3DCD,                             // 1, -1, 0.1
    0x3300, 0x33C0, 0x3301,    0x477F, 0x4780,          // float16: two ties, beyond one, overflow
};
constexpr uint64_t kExponentScales[]{
    0,   1,   254, 255,  // 2^-127, 2^-126, 2^127, NaN
    127, 126, 102, 103,  // 1, 1/2; float16: 2^-25, a tie with 0, and 2^-24
    142, 143,            // 2^15, 2^16
};
// Extremes of integers and of every 8-bit float; ones, threes, infinities and NaNs of those.
constexpr uint64_t kByteCodes[]{0x00, 0x01, 0x02, 0x03, 0x38, 0x3C, 0x40, 0x42, 0x44, 0x7C, 0x7D,
                                0x7E, 0x7F, 0x80, 0x81, 0xB8, 0xC0, 0xFC, 0xFD, 0xFE, 0xFF};
// 257 and 259 are ties of bfloat16, 2049 and 2051 of float16.
constexpr uint64_t kWordCodes[]{0,      1,      2,      3,      127,    128,    255,
                                256,    257,    259,    2047,   2048,   2049,   2051,
                                0x7FFE, 0x7FFF, 0x8000, 0x8001, 4096,   4097,   0xFEFF,
                                0xF7FF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1234, 0x7FE7, 0x7FCA};
// 2^24 + 1 and 2^24 + 3 are ties of float32, as is 2^31 - 64 with 2^31.
constexpr uint64_t kLongCodes[]{
    0,          1,          2,          3,          255,        256,        257,        259,
    2049,       65519,      65520,      0x00FFFFFF, 0x01000000, 0x01000001, 0x01000003, 0x7FFFFFBF,
    0x7FFFFFC0, 0x7FFFFFC1, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x80000040, 0x80000041,
    0xFEFFFFFF, 0xFFFFFF00, 0xFFFFFFFE, 0xFFFFFFFF, 0x12345678};

/// The lists are constants, so that no memory is allocated before main().
template <size_t count>
Codes codes_of(const uint64_t (&list)[count]) {
  return Codes(std::begin(list), std::end(list));
}

uint64_t any_code(Random& random, Element element) {
  return random.bits() & ((uint64_t{1} << bits(element)) - 1);
}

}  // namespace

Codes edge_codes(Element element) {
  if (bits(element) < 8) return all_codes(element);
  if (bits(element) == 8) return codes_of(kByteCodes);
  return bits(element) == 16 ? codes_of(kWordCodes) : codes_of(kLongCodes);
}

Codes all_codes(Element element) {
  if (bits(element) > 8) return edge_codes(element);
  Codes codes(size_t{1} << bits(element));
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = i;
  return codes;
}

Codes edge_scales(Element scale) {
  switch (scale) {
    case float16: return codes_of(kFloat16Scales);
    case bfloat16: return codes_of(kBfloat16Scales);
    case float8e8m0: return codes_of(kExponentScales);
    default: return codes_of(kFloat32Scales);
  }
}

uint64_t random_code(Random& random, Element element) {
  return random.in(0, 3) == 0 ? random.of(edge_codes(element)) : any_code(random, element);
}

uint64_t random_zero_point(Random& random, Element element) {
  return kind(element) == Kind::floating ? 0 : random_code(random, element);
}

std::optional<uint64_t> minus_zero(Element element) {
  const uint32_t code = uint32_t{1} << (bits(element) - 1);
  if (bits(element) == 6) return std::nullopt;  // ONNX subtracts it, which turns an x of -0 into +0
  if (kind(element) == Kind::floating && value_of(element, code) == 0) return code;
  return std::nullopt;
}

uint64_t plain_scale(Random& random, Element scale) {
  const auto any = random.bits();
  const auto exponent = static_cast<uint64_t>(random.in(-4, 4));
  switch (scale) {
    case float16: return (any & 0x3FF) | ((15 + exponent) << 10);
    case bfloat16: return (any & 0x7F) | ((127 + exponent) << 7);
    case float8e8m0: return 127 + exponent;
    default: return (any & 0x7FFFFF) | ((127 + exponent) << 23);
  }
}

uint64_t random_scale(Random& random, Element scale) {
  switch (random.in(0, 15)) {
    case 0: return any_code(random, scale);
    case 1:
    case 2: return random.of(edge_scales(scale));
    default: return plain_scale(random, scale);
  }
}

int64_t count_of(const Sizes& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

CaseTensor random_codes(Random& random, Element element, Sizes shape) {
  return tensor_of(element, std::move(shape), [&] { return random_code(random, element); });
}

CaseTensor random_scales(Random& random, Element element, Sizes shape) {
  return tensor_of(element, std::move(shape), [&] { return random_scale(random, element); });
}

CaseTensor random_zero_points(Random& random, Element element, Sizes shape) {
  return tensor_of(element, std::move(shape), [&] { return random_zero_point(random, element); });
}

Case narrowed(Case c) {
  const auto zero_point = c.inputs.find("zero_point");
  if (zero_point == c.inputs.end()) return c;
  for (CaseTensor* tensor : {&c.inputs.at("x"), &zero_point->second}) {
    if (tensor->type != "uint32" && tensor->type != "int32") continue;
    for (uint64_t& code : tensor->bits) {
      const bool negative = tensor->type == "int32" && code >> 31 != 0;
      code = code >> 8 | (negative ? 0xFF000000 : 0);
    }
  }
  return c;
}

CaseTensor repeated(Element element, size_t rows, const Codes& codes) {
  size_t i = 0;
  return tensor_of(element, {static_cast<int64_t>(rows), static_cast<int64_t>(codes.size())},
                   [&] { return codes[i++ % codes.size()]; });
}

CaseTensor one_per_row(Element element, const Sizes& shape, const Codes& codes) {
  const auto row = static_cast<size_t>(count_of(shape) / std::max<int64_t>(shape[0], 1));
  size_t i = 0;
  return tensor_of(element, shape, [&] { return codes[i++ / row % codes.size()]; });
}

}  // namespace dequant::conformance::vectors
