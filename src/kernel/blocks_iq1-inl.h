// Unpacking IQ1_S and IQ1_M: points of a grid, shifted up or down.
#include "block/grids.h"
#include "hwy/highway.h"
#include "kernel/blocks_iq-inl.h"

#if defined(DEQUANT_BLOCKS_IQ1_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_BLOCKS_IQ1_INL_H_
#undef DEQUANT_BLOCKS_IQ1_INL_H_
#else
#define DEQUANT_BLOCKS_IQ1_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// d * (2 * number + 1) / 8 of numbers of 3 bits.
HWY_INLINE void OddEighths(const int16_t* numbers, size_t count, float d, float* to) {
  ScalesOf(numbers, count, to, [d](auto number) DEQUANT_ATTR {
    const DScales df;
    const auto odd = hn::Add(hn::Add(number, number), hn::Set(df, 1.0F));
    return hn::Mul(hn::Mul(hn::Set(df, d), odd), hn::Set(df, 0.125F));
  });
}

/// Eight parts of 32 codes: points shifted by 1 or -1. shifts(part, i) are those of codes i to
/// i + kWide - 1 of a part.
template <class Shifts>
HWY_INLINE void StorePoints(const uint16_t* indices, const Shifts& shifts, int8_t* codes) {
  for (size_t part = 0; part < 8; ++part, codes += 32) {
    for (size_t i = 0; i < 32; i += kWide) {
      const VWide points = PointsOf8(
          DWide(), [&](size_t k) { return block::kGridIQ1[indices[4 * part + i / 8 + k]]; });
      StoreCodes(hn::Add(points, shifts(part, i)), codes + i);
    }
  }
}

/// 1 in each lane of which bit kBit is clear, -1 where it is set.
template <int kBit>
HWY_INLINE hn::Vec<DI16Wide> Shifts(hn::Vec<D16Wide> bits) {
  const auto top = hn::BitCast(DI16Wide(), hn::ShiftLeft<15 - kBit>(bits));
  return hn::Or(hn::ShiftRight<15>(top), hn::Set(DI16Wide(), 1));
}

HWY_INLINE void UnpackIQ1_S(const uint8_t* block, const UnpackedBlocks& to) {
  const D16Wide d16;
  const VWide words = hn::LoadDup128(DWide(), block + 34);
  alignas(32) int16_t numbers[kIndices];
  alignas(32) int16_t shifts[kIndices];
  const auto number = hn::And(hn::ShiftRight<12>(hn::BitCast(d16, words)), hn::Set(d16, 7));
  hn::Store(hn::BitCast(DI16Wide(), number), DI16Wide(), numbers);
  hn::Store(Shifts<15>(hn::BitCast(d16, words)), DI16Wide(), shifts);
  OddEighths(numbers, 8, Half(block), to.scales);
  // Of a word the three bits of indices 0, 1 and 2 are shifted to bit 8, those of index 3 from the
  // upper byte of the word.
  alignas(32) static constexpr uint8_t kBytes[] = {0, 1,   0, 1, 0,   1, 1, 128, 2, 3,  2,
                                                   3, 2,   3, 3, 128, 4, 5, 4,   5, 4,  5,
                                                   5, 128, 6, 7, 6,   7, 6, 7,   7, 128};
  alignas(16) static constexpr uint16_t kTimes[] = {256, 32, 4, 128, 256, 32, 4, 128};
  uint16_t indices[32];
  for (size_t i = 0; i < 32; i += kIndices) {
    const VWide at = hn::Add(hn::Load(DWide(), kBytes), SetWide(static_cast<int>(i / 2)));
    const auto lanes = hn::BitCast(d16, hn::TableLookupBytesOr0(words, at));
    StoreIndices(block + 2 + i, hn::Mul(lanes, hn::LoadDup128(d16, kTimes)), 0x700, indices + i);
  }
  StorePoints(
      indices, [&](size_t part, size_t) DEQUANT_ATTR { return SetWide(shifts[part]); }, to.codes);
}

/// The scales of IQ1_M. Each of four words has four numbers of three bits, which are shifted to bit
/// 9, and four bits of d above them.
HWY_INLINE void ScalesOfIQ1_M(const uint8_t* words, float* to) {
  uint32_t d_bits = 0;
  for (int i = 0; i < 4; ++i) {
    d_bits |= static_cast<uint32_t>(LoadAs<uint16_t>(words + 2 * i) >> 12) << (4 * i);
  }
  const float d = hn::GetLane(WidenFloat16(hn::Set(D16(), static_cast<uint16_t>(d_bits))));
  alignas(16) static constexpr uint16_t kTimes[] = {512, 64, 8, 1, 512, 64, 8, 1};
  alignas(32) static constexpr uint8_t kWords[] = {0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3,
                                                   4, 5, 4, 5, 4, 5, 4, 5, 6, 7, 6, 7, 6, 7, 6, 7};
  const VWide all = hn::BitCast(DWide(), hn::Set(D64Wide(), LoadAs<uint64_t>(words)));
  const D16Wide d16;
  alignas(32) int16_t numbers[16];
  for (size_t i = 0; i < 16; i += kIndices) {
    const auto lanes =
        hn::BitCast(d16, hn::TableLookupBytes(all, hn::Load(DWide(), kWords + 2 * i)));
    const auto number = hn::ShiftRight<9>(hn::Mul(lanes, hn::LoadDup128(d16, kTimes)));
    hn::Store(hn::BitCast(DI16Wide(), hn::And(number, hn::Set(d16, 7))), DI16Wide(), numbers + i);
  }
  OddEighths(numbers, 16, d, to);
}

HWY_INLINE void UnpackIQ1_M(const uint8_t* block, const UnpackedBlocks& to) {
  ScalesOfIQ1_M(block + 48, to.scales);
  uint16_t indices[32];
  int16_t shifts[32 + 4];  // four are read where two are used
  for (size_t i = 0; i < 32; i += kIndices) {
    // Of each 4 bits the lower three belong to the index, the upper one to the shift.
    const auto upper = UpperBits<2>(block + 32 + i / 2);
    StoreIndices(block + i, upper, 0x700, indices + i);
    hn::StoreU(Shifts<11>(upper), DI16Wide(), shifts + i);
  }
  alignas(32) static constexpr uint8_t kFirst[] = {0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2,
                                                   4, 4, 4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 6, 6, 6, 6};
  const auto each = [&](size_t part, size_t i) DEQUANT_ATTR {
    const int16_t* four = shifts + 4 * part + i / 8;
    const auto all = hn::Set(D64Wide(), LoadAs<uint64_t>(reinterpret_cast<const uint8_t*>(four)));
    return hn::TableLookupBytes(hn::BitCast(DWide(), all), hn::Load(DWide(), kFirst));
  };
  StorePoints(indices, each, to.codes);
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
