// Unpacking the types of 32 elements or of one scale.
#include "hwy/highway.h"
#include "kernel/blocks-inl.h"

#if defined(DEQUANT_BLOCKS_SMALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_BLOCKS_SMALL_INL_H_
#undef DEQUANT_BLOCKS_SMALL_INL_H_
#else
#define DEQUANT_BLOCKS_SMALL_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

HWY_INLINE void UnpackQ4_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  Nibbles<8>(block + 2, to.codes);
}

HWY_INLINE void UnpackQ4_1(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  *to.offsets = Half(block + 2);
  Nibbles<0>(block + 4, to.codes);
}

HWY_INLINE void UnpackQ5_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  Nibbles5<16>(block + 6, block + 2, to.codes);
}

HWY_INLINE void UnpackQ5_1(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  *to.offsets = Half(block + 2);
  Nibbles5<0>(block + 8, block + 4, to.codes);
}

HWY_INLINE void UnpackQ8_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  CopyCodes(block + 2, 32, to);
}

HWY_INLINE void UnpackQ8_1(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  CopyCodes(block + 4, 32, to);
}

HWY_INLINE void UnpackQ8_K(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = LoadAs<float>(block);
  CopyCodes(block + 4, 256, to);
}

HWY_INLINE void UnpackMXFP4(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = block::half_of_e8m0(*block);
  LookUpNibbles(block + 1, block::kTwiceFloat4, to.codes);
}

HWY_INLINE void UnpackNVFP4(const uint8_t* block, const UnpackedBlocks& to) {
  const VWide values = Table16(block::kTwiceFloat4);
  for (int i = 0; i < 4; ++i) to.scales[i] = block::kHalfOfUE4M3[block[i]];
  for (int i = 0; i < 2; ++i) {
    // The codes of two scales: eight bytes for each.
    const hn::FixedTag<uint64_t, 2> d64;
    const auto low = hn::BitCast(d64, LoadBytes(block + 4 + 16 * i));
    const auto high = hn::BitCast(d64, Right<4>(hn::BitCast(D8(), low)));
    const V8 first = hn::BitCast(D8(), hn::InterleaveLower(d64, low, high));
    const V8 second = hn::BitCast(D8(), hn::InterleaveUpper(d64, low, high));
    for (size_t k = 0; k < 32; k += kWide) {
      const VWide nibbles = LowNibbles(Joined(DWide(), first, second, k));
      StoreCodes(hn::TableLookupBytes(values, nibbles), to.codes + 32 * i + k);
    }
  }
}

HWY_INLINE void UnpackIQ4_NL(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  LookUpNibbles(block + 2, block::kUnequalSteps, to.codes);
}

HWY_INLINE void UnpackQ1_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  for (size_t i = 0; i < 128; i += kWide) {
    const auto mask = MaskOfBits(LoadAs<uint32_t>(block + 2 + i / 32 * 4) >> i % 32);
    StoreCodes(hn::IfThenElse(mask, SetWide(1), SetWide(-1)), to.codes + i);
  }
}

HWY_INLINE void UnpackQ2_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  const V8 v = LoadBytes(block + 2);
  const auto codes = [](V8 bits) DEQUANT_ATTR {
    return hn::Sub(hn::And(bits, hn::Set(D8(), 3)), hn::Set(D8(), 1));
  };
  const V8 a = codes(v);
  const V8 b = codes(Right<2>(v));
  const V8 c = codes(Right<4>(v));
  const V8 d = codes(Right<6>(v));
  // Of each byte its four codes: pairs, then pairs of pairs.
  const auto four = [&](V8 first, V8 second, int8_t* out) DEQUANT_ATTR {
    const hn::FixedTag<uint16_t, 8> d16;
    const auto ab = hn::BitCast(d16, first);
    const auto cd = hn::BitCast(d16, second);
    StoreCodes(hn::BitCast(D8(), hn::InterleaveLower(d16, ab, cd)), out);
    StoreCodes(hn::BitCast(D8(), hn::InterleaveUpper(d16, ab, cd)), out + 16);
  };
  four(hn::InterleaveLower(D8(), a, b), hn::InterleaveLower(D8(), c, d), to.codes);
  four(hn::InterleaveUpper(D8(), a, b), hn::InterleaveUpper(D8(), c, d), to.codes + 32);
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
