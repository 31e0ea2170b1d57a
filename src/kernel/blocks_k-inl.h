// Unpacking the K types, the ternary ones and IQ4_XS: blocks of 256 elements with integer scales.
#include "hwy/highway.h"
#include "kernel/blocks-inl.h"

#if defined(DEQUANT_BLOCKS_K_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_BLOCKS_K_INL_H_
#undef DEQUANT_BLOCKS_K_INL_H_
#else
#define DEQUANT_BLOCKS_K_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Calls part(v, i) for the codes of 2 bits in 32 bytes, kWide at a time: `v` has those of elements
/// i to i + kWide - 1 of 128.
template <class Part>
HWY_INLINE void CodesOf2(const uint8_t* from, const Part& part) {
  for (size_t i = 0; i < 32; i += kWide) {
    VWide v = LoadWide(from + i);
    for (size_t at = i; at < 128; at += 32, v = Right<2>(v)) part(hn::And(v, SetWide(3)), at);
  }
}

using D32x4 = hn::FixedTag<uint32_t, 4>;

/// The scales and the negative offsets of Q4_K and Q5_K: 6 bits each, in 12 bytes. A word has four
/// of them.
HWY_INLINE void ScalesAndMins(const uint8_t* block, const UnpackedBlocks& to) {
  // The words d and dmin, a, b, c.
  const V8 v = LoadBytes(block);
  alignas(16) static constexpr uint8_t kAABB[] = {4, 5, 6,  7,  4, 5, 6,  7,
                                                  8, 9, 10, 11, 8, 9, 10, 11};
  alignas(16) static constexpr uint8_t kC[] = {128, 128, 128, 128, 12, 13, 14, 15,
                                               128, 128, 128, 128, 12, 13, 14, 15};
  alignas(16) static constexpr uint32_t kRight[] = {0, 2, 0, 2};
  alignas(16) static constexpr uint32_t kRightC[] = {0, 0, 0, 4};
  alignas(16) static constexpr uint32_t kMask[] = {0x3F3F3F3F, 0x30303030, 0x3F3F3F3F, 0x30303030};
  const D32x4 d;
  const auto aabb = hn::BitCast(d, hn::TableLookupBytes(v, hn::Load(D8(), kAABB)));
  const auto c = hn::BitCast(d, hn::TableLookupBytesOr0(v, hn::Load(D8(), kC)));
  const auto first = hn::And(hn::Shr(aabb, hn::Load(d, kRight)), hn::Load(d, kMask));
  const auto second = hn::And(hn::Shr(c, hn::Load(d, kRightC)), hn::Set(d, 0x0F0F0F0F));
  alignas(16) uint8_t bytes[16];
  hn::Store(hn::BitCast(D8(), hn::Or(first, second)), D8(), bytes);
  ScaleNumbers(bytes, 8, Half(block), to.scales);
  ScaleNumbers(bytes + 8, 8, -Half(block + 2), to.offsets);
}

HWY_INLINE void UnpackQ2_K(const uint8_t* block, const UnpackedBlocks& to) {
  const V8 scales = LoadBytes(block);
  alignas(16) uint8_t bytes[32];
  hn::Store(LowNibbles(scales), D8(), bytes);
  hn::Store(HighNibbles(scales), D8(), bytes + 16);
  ScaleNumbers(bytes, 16, Half(block + 80), to.scales);
  ScaleNumbers(bytes + 16, 16, -Half(block + 82), to.offsets);
  for (size_t half = 0; half < 2; ++half) {
    CodesOf2(block + 16 + 32 * half, [&](VWide codes, size_t i) DEQUANT_ATTR {
      StoreCodes(codes, to.codes + 128 * half + i);
    });
  }
}

/// The scales of Q3_K: of each of 16 the lower 4 bits are in the words a and b, the upper 2 in c.
HWY_INLINE void ScalesOfQ3_K(const uint8_t* block, float* to) {
  // The words a, b, c are the last but the float16 of the block.
  const V8 v = LoadBytes(block + 94);
  alignas(16) static constexpr uint8_t kABAB[] = {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5, 6, 7, 8, 9};
  alignas(16) static constexpr uint8_t kC[] = {10, 11, 12, 13, 10, 11, 12, 13,
                                               10, 11, 12, 13, 10, 11, 12, 13};
  alignas(16) static constexpr uint32_t kRight[] = {0, 0, 4, 4};
  alignas(16) static constexpr uint32_t kRightC[] = {0, 2, 4, 6};
  const D32x4 d;
  const auto abab = hn::BitCast(d, hn::TableLookupBytes(v, hn::Load(D8(), kABAB)));
  const auto c = hn::BitCast(d, hn::TableLookupBytes(v, hn::Load(D8(), kC)));
  const auto low = hn::And(hn::Shr(abab, hn::Load(d, kRight)), hn::Set(d, 0x0F0F0F0F));
  const auto high = hn::And(hn::Shr(c, hn::Load(d, kRightC)), hn::Set(d, 0x03030303));
  const V8 numbers = hn::BitCast(D8(), hn::Or(low, hn::ShiftLeft<4>(high)));
  alignas(16) int8_t bytes[16];
  StoreCodes(hn::Sub(numbers, hn::Set(D8(), 32)), bytes);
  ScaleNumbers(bytes, 16, Half(block + 108), to);
}

HWY_INLINE void UnpackQ3_K(const uint8_t* block, const UnpackedBlocks& to) {
  ScalesOfQ3_K(block, to.scales);
  for (size_t i = 0; i < 32; i += kWide) {
    VWide high = LoadWide(block + i);
    for (size_t half = 0; half < 2; ++half) {
      VWide low = LoadWide(block + 32 + 32 * half + i);
      for (size_t at = i; at < 128; at += 32, low = Right<2>(low), high = Right<1>(high)) {
        // A third bit that is clear takes 4 away.
        const VWide less = hn::AndNot(Left<2>(high), SetWide(4));
        StoreCodes(hn::Sub(hn::And(low, SetWide(3)), less), to.codes + 128 * half + at);
      }
    }
  }
}

HWY_INLINE void UnpackQ4_K(const uint8_t* block, const UnpackedBlocks& to) {
  ScalesAndMins(block, to);
  for (size_t i = 0; i < 128; i += kWide) {
    const VWide v = LoadWide(block + 16 + i);
    int8_t* codes = to.codes + i / 32 * 64 + i % 32;
    StoreCodes(LowNibbles(v), codes);
    StoreCodes(HighNibbles(v), codes + 32);
  }
}

HWY_INLINE void UnpackQ5_K(const uint8_t* block, const UnpackedBlocks& to) {
  ScalesAndMins(block, to);
  for (size_t i = 0; i < 32; i += kWide) {
    VWide high = LoadWide(block + 16 + i);
    for (size_t part = 0; part < 4; ++part, high = Right<2>(high)) {
      const VWide v = LoadWide(block + 48 + 32 * part + i);
      const VWide first = hn::And(Left<4>(high), SetWide(16));
      const VWide second = hn::And(Left<3>(high), SetWide(16));
      int8_t* codes = to.codes + 64 * part + i;
      StoreCodes(hn::Or(LowNibbles(v), first), codes);
      StoreCodes(hn::Or(HighNibbles(v), second), codes + 32);
    }
  }
}

HWY_INLINE void UnpackQ6_K(const uint8_t* block, const UnpackedBlocks& to) {
  ScaleNumbers(reinterpret_cast<const int8_t*>(block + 192), 16, Half(block + 208), to.scales);
  for (size_t half = 0; half < 2; ++half) {
    const uint8_t* low = block + 64 * half;
    CodesOf2(block + 128 + 32 * half, [&](VWide high, size_t i) DEQUANT_ATTR {
      const VWide v = LoadWide(low + i % 64);
      const VWide nibbles = i < 64 ? LowNibbles(v) : HighNibbles(v);
      StoreCodes(hn::Sub(hn::Or(nibbles, Left<4>(high)), SetWide(32)), to.codes + 128 * half + i);
    });
  }
}

/// The scales of IQ4_XS: of each of 8 the lower 4 bits are in bytes 4 to 7, the upper 2 in bytes 2
/// and 3. Multiplications shift them to bits 4 to 7 and 8 to 9.
HWY_INLINE void ScalesOfIQ4_XS(const uint8_t* block, float* to) {
  alignas(16) static constexpr uint8_t kLow[] = {4, 128, 4, 128, 5, 128, 5, 128,
                                                 6, 128, 6, 128, 7, 128, 7, 128};
  alignas(16) static constexpr uint8_t kHigh[] = {2, 128, 2, 128, 2, 128, 2, 128,
                                                  3, 128, 3, 128, 3, 128, 3, 128};
  alignas(16) static constexpr uint16_t kTimes[] = {16, 1, 16, 1, 16, 1, 16, 1};
  alignas(16) static constexpr uint16_t kTimesHigh[] = {256, 64, 16, 4, 256, 64, 16, 4};
  const hn::FixedTag<uint16_t, 8> d;
  const V8 v = LoadBytes(block);
  const auto low = hn::BitCast(d, hn::TableLookupBytesOr0(v, hn::Load(D8(), kLow)));
  const auto high = hn::BitCast(d, hn::TableLookupBytesOr0(v, hn::Load(D8(), kHigh)));
  const auto number = hn::Or(hn::And(hn::Mul(low, hn::Load(d, kTimes)), hn::Set(d, 0xF0)),
                             hn::And(hn::Mul(high, hn::Load(d, kTimesHigh)), hn::Set(d, 0x300)));
  alignas(16) int16_t numbers[8];
  const hn::FixedTag<int16_t, 8> di;
  hn::Store(hn::Sub(hn::BitCast(di, hn::ShiftRight<4>(number)), hn::Set(di, 32)), di, numbers);
  ScaleNumbers(numbers, 8, Half(block), to);
}

HWY_INLINE void UnpackIQ4_XS(const uint8_t* block, const UnpackedBlocks& to) {
  ScalesOfIQ4_XS(block, to.scales);
  for (size_t i = 0; i < 8; ++i) {
    LookUpNibbles(block + 8 + 16 * i, block::kUnequalSteps, to.codes + 32 * i);
  }
}

HWY_INLINE void UnpackTQ2_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block + 64);
  for (size_t half = 0; half < 2; ++half) {
    CodesOf2(block + 32 * half, [&](VWide codes, size_t i) DEQUANT_ATTR {
      StoreCodes(hn::Sub(codes, SetWide(1)), to.codes + 128 * half + i);
    });
  }
}

/// The digit of each byte, less 1, and what is left of them. As fractions of 256, bytes from 86 on
/// are a third or more, bytes from 171 on two thirds; 3 * rest wraps as the digit is taken away.
template <class V>
HWY_INLINE V Digit(V& rest) {
  const hn::DFromV<V> d;
  const V third = hn::VecFromMask(d, hn::Eq(hn::Max(rest, hn::Set(d, 86)), rest));
  const V two_thirds = hn::VecFromMask(d, hn::Eq(hn::Max(rest, hn::Set(d, 171)), rest));
  rest = hn::Add(hn::Add(rest, rest), rest);
  return hn::Sub(hn::Sub(hn::Set(d, 0xFF), third), two_thirds);
}

HWY_INLINE void UnpackTQ1_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block + 52);
  for (size_t i = 0; i < 32; i += kWide) {
    VWide rest = LoadWide(block + i);
    for (size_t place = 0; place < 5; ++place) StoreCodes(Digit(rest), to.codes + 32 * place + i);
  }
  V8 rest = LoadBytes(block + 32);
  for (int place = 0; place < 5; ++place) StoreCodes(Digit(rest), to.codes + 160 + 16 * place);
  // The last four bytes, whose digits are side by side.
  const D32x4 d32;
  rest = hn::BitCast(D8(), hn::Set(d32, LoadAs<uint32_t>(block + 48)));
  for (int place = 0; place < 4; ++place) {
    const uint32_t four = hn::GetLane(hn::BitCast(d32, Digit(rest)));
    std::memcpy(to.codes + 240 + 4 * place, &four, sizeof four);
  }
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
