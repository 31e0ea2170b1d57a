// Unpacking the IQ types with grids: points are looked up one by one, signs are put two points at
// a time.
#include "block/grids.h"
#include "hwy/highway.h"
#include "kernel/blocks-inl.h"

#if defined(DEQUANT_BLOCKS_IQ_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_BLOCKS_IQ_INL_H_
#undef DEQUANT_BLOCKS_IQ_INL_H_
#else
#define DEQUANT_BLOCKS_IQ_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Eight signs of which seven are stored; their parity is even.
HWY_INLINE uint32_t EightSigns(uint32_t seven) {
  seven &= 127;
  uint32_t parity = seven ^ seven >> 4;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return seven | (parity & 1) << 7;
}

HWY_INLINE V8 TwoPoints(uint64_t first, uint64_t second) {
  const uint64_t points[] = {first, second};
  return LoadBytes(reinterpret_cast<const uint8_t*>(points));
}

/// Sixteen magnitudes, negative where the bit of `signs` is set.
HWY_INLINE void StoreSigned(V8 magnitudes, uint32_t signs, int8_t* to) {
  const V8 mask = MaskOfBits(signs);
  StoreCodes(hn::Sub(hn::Xor(magnitudes, mask), mask), to);
}

/// d * (number + 1/2) * factor.
HWY_INLINE float ScaleBetween(float d, uint32_t number, float factor) {
  return d * (0.5F + static_cast<float>(number)) * factor;
}

HWY_INLINE void SixteenScales(const uint8_t* numbers, float d, float* to) {
  for (int i = 0; i < 16; ++i) {
    to[i] = ScaleBetween(d, numbers[i / 2] >> (i % 2 * 4) & 15, 0.25F);
  }
}

HWY_INLINE void UnpackIQ2_XXS(const uint8_t* block, const UnpackedBlocks& to) {
  const float d = Half(block);
  for (int i = 0; i < 8; ++i) {
    const uint8_t* part = block + 2 + 8 * i;
    const auto word = LoadAs<uint32_t>(part + 4);
    to.scales[i] = ScaleBetween(d, word >> 28, 0.25F);
    for (int pair = 0; pair < 2; ++pair) {
      const uint32_t signs = EightSigns(word >> (14 * pair)) | EightSigns(word >> (14 * pair + 7))
                                                                   << 8;
      StoreSigned(
          TwoPoints(block::kGridIQ2_XXS[part[2 * pair]], block::kGridIQ2_XXS[part[2 * pair + 1]]),
          signs, to.codes + 32 * i + 16 * pair);
    }
  }
}

HWY_INLINE void UnpackIQ2_XS(const uint8_t* block, const UnpackedBlocks& to) {
  SixteenScales(block + 66, Half(block), to.scales);
  for (int i = 0; i < 16; ++i) {
    const uint32_t first = LoadAs<uint16_t>(block + 2 + 4 * i);
    const uint32_t second = LoadAs<uint16_t>(block + 4 + 4 * i);
    StoreSigned(TwoPoints(block::kGridIQ2_XS[first & 511], block::kGridIQ2_XS[second & 511]),
                EightSigns(first >> 9) | EightSigns(second >> 9) << 8, to.codes + 16 * i);
  }
}

HWY_INLINE void UnpackIQ2_S(const uint8_t* block, const UnpackedBlocks& to) {
  SixteenScales(block + 74, Half(block), to.scales);
  for (int i = 0; i < 16; ++i) {
    const uint32_t high = block[66 + i / 2] >> (i % 2 * 4);
    const uint32_t first = block[2 + 2 * i] | (high & 3) << 8;
    const uint32_t second = block[3 + 2 * i] | (high >> 2 & 3) << 8;
    StoreSigned(TwoPoints(block::kGridIQ2_S[first], block::kGridIQ2_S[second]),
                LoadAs<uint16_t>(block + 34 + 2 * i), to.codes + 16 * i);
  }
}

/// Four points of four coordinates.
HWY_INLINE V8 FourPoints(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  const uint32_t points[] = {a, b, c, d};
  return LoadBytes(reinterpret_cast<const uint8_t*>(points));
}

HWY_INLINE void UnpackIQ3_XXS(const uint8_t* block, const UnpackedBlocks& to) {
  const auto& grid = block::kGridIQ3_XXS;
  const float d = Half(block);
  for (int i = 0; i < 8; ++i) {
    const auto word = LoadAs<uint32_t>(block + 66 + 4 * i);
    to.scales[i] = ScaleBetween(d, word >> 28, 0.5F);
    for (int pair = 0; pair < 2; ++pair) {
      const uint8_t* index = block + 2 + 8 * i + 4 * pair;
      const uint32_t signs = EightSigns(word >> (14 * pair)) | EightSigns(word >> (14 * pair + 7))
                                                                   << 8;
      StoreSigned(FourPoints(grid[index[0]], grid[index[1]], grid[index[2]], grid[index[3]]), signs,
                  to.codes + 32 * i + 16 * pair);
    }
  }
}

HWY_INLINE void UnpackIQ3_S(const uint8_t* block, const UnpackedBlocks& to) {
  const auto& grid = block::kGridIQ3_S;
  const float d = Half(block);
  for (int i = 0; i < 8; ++i) {
    const int number = block[106 + i / 2] >> (i % 2 * 4) & 15;
    to.scales[i] = d * static_cast<float>(2 * number + 1);
  }
  for (int i = 0; i < 16; ++i) {
    const uint8_t* index = block + 2 + 4 * i;
    const uint32_t high = uint32_t{block[66 + i / 2]} >> (i % 2 * 4);
    const auto at = [=](int k) { return index[k] | (high >> k & 1) << 8; };
    StoreSigned(FourPoints(grid[at(0)], grid[at(1)], grid[at(2)], grid[at(3)]),
                LoadAs<uint16_t>(block + 74 + 2 * i), to.codes + 16 * i);
  }
}

/// Two points of IQ1, shifted down by an eighth where the bit of `down` is set, up where it is not.
HWY_INLINE void StoreShifted(uint32_t first, uint32_t second, uint32_t down, int8_t* to) {
  const V8 points = TwoPoints(block::kGridIQ1[first], block::kGridIQ1[second]);
  const V8 ones = hn::IfVecThenElse(MaskOfBits(down), Bytes(0xFF), Bytes(1));
  StoreCodes(hn::Add(points, ones), to);
}

/// d * (2 * number + 1) / 8, of 3 bits.
HWY_INLINE float OddEighths(float d, uint32_t number) {
  return d * static_cast<float>(static_cast<int>(2 * (number & 7) + 1)) * 0.125F;
}

HWY_INLINE void UnpackIQ1_S(const uint8_t* block, const UnpackedBlocks& to) {
  const float d = Half(block);
  for (int i = 0; i < 8; ++i) {
    const uint32_t word = LoadAs<uint16_t>(block + 34 + 2 * i);
    to.scales[i] = OddEighths(d, word >> 12);
    const uint8_t* low = block + 2 + 4 * i;
    const auto at = [=](int k) { return low[k] | (word >> (3 * k) & 7) << 8; };
    const uint32_t down = (word >> 15) * 0xFFFF;
    StoreShifted(at(0), at(1), down, to.codes + 32 * i);
    StoreShifted(at(2), at(3), down, to.codes + 32 * i + 16);
  }
}

HWY_INLINE void UnpackIQ1_M(const uint8_t* block, const UnpackedBlocks& to) {
  uint32_t d_bits = 0;
  for (int i = 0; i < 4; ++i) {
    d_bits |= static_cast<uint32_t>(LoadAs<uint16_t>(block + 48 + 2 * i) >> 12) << (4 * i);
  }
  const float d = hn::GetLane(WidenFloat16(hn::Set(D16(), static_cast<uint16_t>(d_bits))));
  for (int i = 0; i < 16; ++i) {
    const uint32_t word = LoadAs<uint16_t>(block + 48 + i / 4 * 2);
    to.scales[i] = OddEighths(d, word >> (i % 4 * 3));
    const uint32_t high = block[32 + i];
    const uint32_t down = (high >> 3 & 1) * 0xFF | (high >> 7) * 0xFF00;
    StoreShifted(block[2 * i] | (high & 7) << 8, block[2 * i + 1] | (high >> 4 & 7) << 8, down,
                 to.codes + 16 * i);
  }
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
