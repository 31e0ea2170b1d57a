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

/// Calls part(v, i) for the codes of 2 bits in 32 bytes, sixteen at a time: `v` has those of
/// elements i to i + 15 of 128.
template <class Part>
HWY_INLINE void CodesOf2(const uint8_t* from, const Part& part) {
  for (int i = 0; i < 32; i += 16) {
    V8 v = LoadBytes(from + i);
    for (int at = i; at < 128; at += 32, v = Right<2>(v)) part(hn::And(v, Bytes(3)), at);
  }
}

/// The scales and the negative offsets of Q4_K and Q5_K: 6 bits each, in 12 bytes. A word has four
/// of them.
HWY_INLINE void ScalesAndMins(const uint8_t* block, const UnpackedBlocks& to) {
  const auto a = LoadAs<uint32_t>(block + 4);
  const auto b = LoadAs<uint32_t>(block + 8);
  const auto c = LoadAs<uint32_t>(block + 12);
  const auto high = [](uint32_t word) { return word >> 2 & 0x30303030; };
  const uint32_t words[] = {a & 0x3F3F3F3F, (c & 0x0F0F0F0F) | high(a), b & 0x3F3F3F3F,
                            (c >> 4 & 0x0F0F0F0F) | high(b)};
  uint8_t bytes[16];
  std::memcpy(bytes, words, sizeof bytes);
  ScaleBytes(bytes, 8, Half(block), to.scales);
  ScaleBytes(bytes + 8, 8, -Half(block + 2), to.offsets);
}

HWY_INLINE void UnpackQ2_K(const uint8_t* block, const UnpackedBlocks& to) {
  const V8 scales = LoadBytes(block);
  uint8_t bytes[32];
  hn::StoreU(LowNibbles(scales), D8(), bytes);
  hn::StoreU(HighNibbles(scales), D8(), bytes + 16);
  ScaleBytes(bytes, 16, Half(block + 80), to.scales);
  ScaleBytes(bytes + 16, 16, -Half(block + 82), to.offsets);
  for (int half = 0; half < 2; ++half) {
    CodesOf2(block + 16 + 32 * half,
             [&](V8 codes, int i) DEQUANT_ATTR { StoreCodes(codes, to.codes + 128 * half + i); });
  }
}

HWY_INLINE void UnpackQ3_K(const uint8_t* block, const UnpackedBlocks& to) {
  const auto a = LoadAs<uint32_t>(block + 96);
  const auto b = LoadAs<uint32_t>(block + 100);
  const auto c = LoadAs<uint32_t>(block + 104);
  const auto join = [](uint32_t low, uint32_t high) {
    return (low & 0x0F0F0F0F) | (high & 0x03030303) << 4;
  };
  const uint32_t words[] = {join(a, c), join(b, c >> 2), join(a >> 4, c >> 4),
                            join(b >> 4, c >> 6)};
  V8 scales = LoadBytes(reinterpret_cast<const uint8_t*>(words));
  int8_t bytes[16];
  StoreCodes(hn::Sub(scales, Bytes(32)), bytes);
  ScaleBytes(bytes, 16, Half(block + 108), to.scales);
  for (int i = 0; i < 32; i += 16) {
    V8 high = LoadBytes(block + i);
    for (int half = 0; half < 2; ++half) {
      V8 low = LoadBytes(block + 32 + 32 * half + i);
      for (int at = i; at < 128; at += 32, low = Right<2>(low), high = Right<1>(high)) {
        const V8 top = Left<2>(hn::And(high, Bytes(1)));
        StoreCodes(hn::Sub(hn::Or(hn::And(low, Bytes(3)), top), Bytes(4)),
                   to.codes + 128 * half + at);
      }
    }
  }
}

HWY_INLINE void UnpackQ4_K(const uint8_t* block, const UnpackedBlocks& to) {
  ScalesAndMins(block, to);
  for (int i = 0; i < 128; i += 16) {
    const V8 v = LoadBytes(block + 16 + i);
    int8_t* codes = to.codes + i / 32 * 64 + i % 32;
    StoreCodes(LowNibbles(v), codes);
    StoreCodes(HighNibbles(v), codes + 32);
  }
}

HWY_INLINE void UnpackQ5_K(const uint8_t* block, const UnpackedBlocks& to) {
  ScalesAndMins(block, to);
  for (int i = 0; i < 32; i += 16) {
    V8 high = LoadBytes(block + 16 + i);
    for (int part = 0; part < 4; ++part, high = Right<2>(high)) {
      const V8 v = LoadBytes(block + 48 + 32 * part + i);
      const V8 first = Left<4>(hn::And(high, Bytes(1)));
      const V8 second = Left<3>(hn::And(high, Bytes(2)));
      int8_t* codes = to.codes + 64 * part + i;
      StoreCodes(hn::Or(LowNibbles(v), first), codes);
      StoreCodes(hn::Or(HighNibbles(v), second), codes + 32);
    }
  }
}

HWY_INLINE void UnpackQ6_K(const uint8_t* block, const UnpackedBlocks& to) {
  ScaleBytes(reinterpret_cast<const int8_t*>(block + 192), 16, Half(block + 208), to.scales);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* low = block + 64 * half;
    CodesOf2(block + 128 + 32 * half, [&](V8 high, int i) DEQUANT_ATTR {
      const V8 v = LoadBytes(low + i % 64);
      const V8 nibbles = i < 64 ? LowNibbles(v) : HighNibbles(v);
      StoreCodes(hn::Sub(hn::Or(nibbles, Left<4>(high)), Bytes(32)), to.codes + 128 * half + i);
    });
  }
}

HWY_INLINE void UnpackIQ4_XS(const uint8_t* block, const UnpackedBlocks& to) {
  const uint32_t high = LoadAs<uint16_t>(block + 2);
  int8_t scales[8];
  for (int i = 0; i < 8; ++i) {
    const int low = block[4 + i / 2] >> (i % 2 * 4) & 15;
    scales[i] = static_cast<int8_t>((low | static_cast<int>(high >> (2 * i) & 3) << 4) - 32);
  }
  ScaleBytes(scales, 8, Half(block), to.scales);
  for (int i = 0; i < 8; ++i) {
    LookUpNibbles(block + 8 + 16 * i, block::kUnequalSteps, to.codes + 32 * i);
  }
}

HWY_INLINE void UnpackTQ2_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block + 64);
  for (int half = 0; half < 2; ++half) {
    CodesOf2(block + 32 * half, [&](V8 codes, int i) DEQUANT_ATTR {
      StoreCodes(hn::Sub(codes, Bytes(1)), to.codes + 128 * half + i);
    });
  }
}

/// The digit of sixteen bytes, less 1, and what is left of them. As fractions of 256, bytes from 86
/// on are a third or more, bytes from 171 on two thirds; 3 * rest wraps as the digit is taken away.
HWY_INLINE V8 Digit(V8& rest) {
  const V8 third = hn::VecFromMask(D8(), hn::Eq(hn::Max(rest, Bytes(86)), rest));
  const V8 two_thirds = hn::VecFromMask(D8(), hn::Eq(hn::Max(rest, Bytes(171)), rest));
  rest = hn::Add(hn::Add(rest, rest), rest);
  return hn::Sub(hn::Sub(Bytes(0xFF), third), two_thirds);
}

HWY_INLINE void UnpackTQ1_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block + 52);
  for (int i = 0; i < 32; i += 16) {
    V8 rest = LoadBytes(block + i);
    for (int place = 0; place < 5; ++place) StoreCodes(Digit(rest), to.codes + 32 * place + i);
  }
  V8 rest = LoadBytes(block + 32);
  for (int place = 0; place < 5; ++place) StoreCodes(Digit(rest), to.codes + 160 + 16 * place);
  // The last four bytes, whose digits are side by side.
  const hn::FixedTag<uint32_t, 4> d32;
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
