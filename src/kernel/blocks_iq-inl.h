// Unpacking the IQ types with grids of magnitudes: indices, signs and scales are made by vectors,
// points are looked up one by one.
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

using D16Wide = hn::Repartition<uint16_t, DWide>;
using D32Wide = hn::Repartition<uint32_t, DWide>;
using D64Wide = hn::Repartition<uint64_t, DWide>;
using DI16Wide = hn::RebindToSigned<D16Wide>;
/// Indices of points that are made at once.
constexpr size_t kIndices = hn::MaxLanes(D16Wide());

/// kWide coordinates: points of eight each. at(k) is point k.
template <class D, class At>
HWY_INLINE hn::Vec<D> PointsOf8(D d, const At& at) {
  const auto two = [&](size_t k) DEQUANT_ATTR {
    const uint64_t points[] = {at(k), at(k + 1)};
    return LoadBytes(reinterpret_cast<const uint8_t*>(points));
  };
  if constexpr (hn::MaxLanes(d) == 32) {
    return hn::Combine(d, two(2), two(0));
  } else {
    return two(0);
  }
}

/// kWide coordinates: points of four each.
template <class D, class At>
HWY_INLINE hn::Vec<D> PointsOf4(D d, const At& at) {
  const auto four = [&](size_t k) DEQUANT_ATTR {
    const uint32_t points[] = {at(k), at(k + 1), at(k + 2), at(k + 3)};
    return LoadBytes(reinterpret_cast<const uint8_t*>(points));
  };
  if constexpr (hn::MaxLanes(d) == 32) {
    return hn::Combine(d, four(4), four(0));
  } else {
    return four(0);
  }
}

/// Bytes of seven signs with the eighth, which makes the number of negative ones even.
HWY_INLINE VWide EightSigns(VWide seven) {
  alignas(16) static constexpr uint8_t kOddBits[] = {0,   128, 128, 0,   128, 0,   0,   128,
                                                     128, 0,   0,   128, 0,   128, 128, 0};
  const VWide nibble = LowNibbles(hn::Xor(seven, Right<4>(seven)));
  return hn::Or(seven, hn::TableLookupBytes(hn::LoadDup128(DWide(), kOddBits), nibble));
}

/// Signs of the eight words of IQ2_XXS and IQ3_XXS: four times seven from bit 0 on.
HWY_INLINE void SignsOfWords(const uint32_t* words, uint32_t* to) {
  const D32Wide d;
  for (size_t i = 0; i < 8; i += hn::Lanes(d)) {
    const auto word = hn::LoadU(d, words + i);
    // Fourteen bits in each half, then seven in each byte.
    const auto halves = hn::Or(hn::And(word, hn::Set(d, 0x3FFF)),
                               hn::And(hn::ShiftLeft<2>(word), hn::Set(d, 0x3FFF0000)));
    const auto bytes = hn::Or(hn::And(halves, hn::Set(d, 0x007F007F)),
                              hn::And(hn::ShiftLeft<1>(halves), hn::Set(d, 0x7F007F00)));
    hn::StoreU(hn::BitCast(d, EightSigns(hn::BitCast(DWide(), bytes))), d, to + i);
  }
}

/// d * (number + 1/2) * factor of the upper four bits of eight words.
HWY_INLINE void ScalesOfWords(const uint32_t* words, float d, float factor, float* to) {
  const DScales df;
  const hn::Rebind<uint32_t, DScales> du;
  for (size_t i = 0; i < 8; i += hn::Lanes(df)) {
    const auto number = hn::ShiftRight<28>(hn::LoadU(du, words + i));
    const auto sum = hn::Add(hn::ConvertTo(df, hn::BitCast(hn::Rebind<int32_t, DScales>(), number)),
                             hn::Set(df, 0.5F));
    hn::StoreU(hn::Mul(hn::Mul(sum, hn::Set(df, d)), hn::Set(df, factor)), df, to + i);
  }
}

/// Numbers of 4 bits, the lower one of a byte first, of eight bytes.
HWY_INLINE V8 NumbersOf4(uint64_t eight) {
  const V8 bytes = hn::BitCast(D8(), hn::Set(hn::FixedTag<uint64_t, 2>(), eight));
  return hn::InterleaveLower(D8(), LowNibbles(bytes), HighNibbles(bytes));
}

/// d * (number + 1/2) / 4 of sixteen numbers of 4 bits.
HWY_INLINE void SixteenScales(const uint8_t* from, float d, float* to) {
  alignas(16) uint8_t numbers[16];
  hn::Store(NumbersOf4(LoadAs<uint64_t>(from)), D8(), numbers);
  ScalesOf(numbers, 16, to, [d](auto number) DEQUANT_ATTR {
    const DScales df;
    const auto sum = hn::Add(number, hn::Set(df, 0.5F));
    return hn::Mul(hn::Mul(sum, hn::Set(df, d)), hn::Set(df, 0.25F));
  });
}

/// Eight parts of 32 codes with signs. magnitudes(part, i) are those of codes i to i + kWide - 1 of
/// a part, signs(part) the bits of its signs.
template <class Magnitudes, class Signs>
HWY_INLINE void StoreParts(int8_t* codes, const Magnitudes& magnitudes, const Signs& signs) {
  for (size_t part = 0; part < 8; ++part, codes += 32) {
    for (size_t i = 0; i < 32; i += kWide) {
      const VWide mask = hn::VecFromMask(DWide(), MaskOfBits(signs(part) >> i));
      StoreCodes(hn::Sub(hn::Xor(magnitudes(part, i), mask), mask), codes + i);
    }
  }
}

HWY_INLINE void UnpackIQ2_XXS(const uint8_t* block, const UnpackedBlocks& to) {
  uint32_t words[8];
  uint32_t signs[8];
  for (size_t i = 0; i < 8; ++i) words[i] = LoadAs<uint32_t>(block + 6 + 8 * i);
  SignsOfWords(words, signs);
  ScalesOfWords(words, Half(block), 0.25F, to.scales);
  StoreParts(
      to.codes,
      [&](size_t part, size_t i) DEQUANT_ATTR {
        return PointsOf8(DWide(), [&](size_t k) {
          return block::kGridIQ2_XXS[block[2 + 8 * part + i / 8 + k]];
        });
      },
      [&](size_t part) { return signs[part]; });
}

HWY_INLINE void UnpackIQ3_XXS(const uint8_t* block, const UnpackedBlocks& to) {
  uint32_t words[8];
  uint32_t signs[8];
  std::memcpy(words, block + 66, sizeof words);
  SignsOfWords(words, signs);
  ScalesOfWords(words, Half(block), 0.5F, to.scales);
  StoreParts(
      to.codes,
      [&](size_t part, size_t i) DEQUANT_ATTR {
        return PointsOf4(DWide(), [&](size_t k) {
          return block::kGridIQ3_XXS[block[2 + 8 * part + i / 4 + k]];
        });
      },
      [&](size_t part) { return signs[part]; });
}

HWY_INLINE void UnpackIQ2_XS(const uint8_t* block, const UnpackedBlocks& to) {
  SixteenScales(block + 66, Half(block), to.scales);
  uint16_t indices[32];
  uint8_t signs[32];
  const D16Wide d16;
  const hn::Rebind<uint8_t, D16Wide> d8;
  for (size_t i = 0; i < 32; i += kIndices) {
    const auto v = hn::BitCast(d16, LoadWide(block + 2 + 2 * i));
    hn::StoreU(hn::And(v, hn::Set(d16, 511)), d16, indices + i);
    const auto seven = hn::BitCast(DI16Wide(), hn::ShiftRight<9>(v));
    hn::StoreU(hn::DemoteTo(d8, seven), d8, signs + i);
  }
  for (size_t i = 0; i < 32; i += kWide) {
    hn::StoreU(EightSigns(LoadWide(signs + i)), DWide(), signs + i);
  }
  StoreParts(
      to.codes,
      [&](size_t part, size_t i) DEQUANT_ATTR {
        return PointsOf8(
            DWide(), [&](size_t k) { return block::kGridIQ2_XS[indices[4 * part + i / 8 + k]]; });
      },
      [&](size_t part) { return LoadAs<uint32_t>(signs + 4 * part); });
}

/// Upper bits of kIndices indices: kFields of them in each byte of `high`, the lowest first. They
/// are shifted to bit 8 by a multiplication, and not masked. Reads eight bytes.
template <size_t kFields>
HWY_INLINE hn::Vec<D16Wide> UpperBits(const uint8_t* high) {
  constexpr auto at = [](size_t lane) { return static_cast<uint8_t>(lane / kFields); };
  constexpr auto times = [](size_t lane) {
    return static_cast<uint16_t>(256 >> lane % kFields * (8 / kFields));
  };
  alignas(32) static constexpr uint8_t kBytes[] = {
      at(0),  128,   at(1),  128,   at(2),  128,   at(3),  128,   at(4),  128,    at(5),
      128,    at(6), 128,    at(7), 128,    at(8), 128,    at(9), 128,    at(10), 128,
      at(11), 128,   at(12), 128,   at(13), 128,   at(14), 128,   at(15), 128};
  alignas(16) static constexpr uint16_t kTimes[] = {times(0), times(1), times(2), times(3),
                                                    times(4), times(5), times(6), times(7)};
  const VWide bytes = hn::BitCast(DWide(), hn::Set(D64Wide(), LoadAs<uint64_t>(high)));
  const VWide lanes = hn::TableLookupBytesOr0(bytes, hn::Load(DWide(), kBytes));
  return hn::Mul(hn::BitCast(D16Wide(), lanes), hn::LoadDup128(D16Wide(), kTimes));
}

/// kIndices indices: bytes, and bits above them.
HWY_INLINE void StoreIndices(const uint8_t* low, hn::Vec<D16Wide> upper, uint16_t mask,
                             uint16_t* to) {
  const hn::Rebind<uint8_t, D16Wide> d8;
  const D16Wide d;
  hn::StoreU(hn::Or(hn::PromoteTo(d, hn::LoadU(d8, low)), hn::And(upper, hn::Set(d, mask))), d, to);
}

HWY_INLINE void UnpackIQ2_S(const uint8_t* block, const UnpackedBlocks& to) {
  SixteenScales(block + 74, Half(block), to.scales);
  uint16_t indices[32];
  for (size_t i = 0; i < 32; i += kIndices) {
    StoreIndices(block + 2 + i, UpperBits<4>(block + 66 + i / 4), 0x300, indices + i);
  }
  StoreParts(
      to.codes,
      [&](size_t part, size_t i) DEQUANT_ATTR {
        return PointsOf8(
            DWide(), [&](size_t k) { return block::kGridIQ2_S[indices[4 * part + i / 8 + k]]; });
      },
      [&](size_t part) { return LoadAs<uint32_t>(block + 34 + 4 * part); });
}

HWY_INLINE void UnpackIQ3_S(const uint8_t* block, const UnpackedBlocks& to) {
  alignas(16) uint8_t numbers[16];
  hn::Store(NumbersOf4(LoadAs<uint32_t>(block + 106)), D8(), numbers);
  ScalesOf(numbers, 8, to.scales, [d = Half(block)](auto number) DEQUANT_ATTR {
    const DScales df;
    return hn::Mul(hn::Set(df, d), hn::Add(hn::Add(number, number), hn::Set(df, 1.0F)));
  });
  uint16_t indices[64];
  for (size_t i = 0; i < 64; i += kIndices) {
    StoreIndices(block + 2 + i, UpperBits<8>(block + 66 + i / 8), 0x100, indices + i);
  }
  StoreParts(
      to.codes,
      [&](size_t part, size_t i) DEQUANT_ATTR {
        return PointsOf4(
            DWide(), [&](size_t k) { return block::kGridIQ3_S[indices[8 * part + i / 4 + k]]; });
      },
      [&](size_t part) { return LoadAs<uint32_t>(block + 74 + 4 * part); });
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
