// Unpacking blocks: what the families share, and the types of 32 elements or of one scale. The
// layouts are those of src/block/, whose functions give the same codes and scales.
#include <cstring>

#include "block/tables.h"
#include "block/unpack.h"
#include "hwy/highway.h"
#include "kernel/decode-inl.h"
#include "kernel/narrow-inl.h"
#include "kernel/widen-inl.h"

#if defined(DEQUANT_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_BLOCKS_INL_H_
#undef DEQUANT_BLOCKS_INL_H_
#else
#define DEQUANT_BLOCKS_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Sixteen bytes, which every target has, and the vectors that most types are unpacked with: 32
/// codes where the target has them.
using D8 = hn::FixedTag<uint8_t, 16>;
using V8 = hn::Vec<D8>;
using DWide = hn::CappedTag<uint8_t, 32>;
using VWide = hn::Vec<DWide>;
constexpr size_t kWide = hn::MaxLanes(DWide());
/// Up to eight scales at once.
using DScales = hn::CappedTag<float, 8>;

HWY_INLINE V8 LoadBytes(const uint8_t* from) { return hn::LoadU(D8(), from); }
HWY_INLINE VWide LoadWide(const uint8_t* from) { return hn::LoadU(DWide(), from); }
HWY_INLINE VWide SetWide(int value) { return hn::Set(DWide(), static_cast<uint8_t>(value)); }
template <class V>
HWY_INLINE void StoreCodes(V codes, int8_t* to) {
  hn::StoreU(codes, hn::DFromV<V>(), reinterpret_cast<uint8_t*>(to));
}

/// Shifts of words of 16 bits: bits of the other byte move in, and must be masked.
template <int kBits, class V>
HWY_INLINE V Right(V v) {
  const hn::DFromV<V> d;
  return hn::BitCast(d, hn::ShiftRight<kBits>(hn::BitCast(hn::Repartition<uint16_t, decltype(d)>(), v)));
}
template <int kBits, class V>
HWY_INLINE V Left(V v) {
  const hn::DFromV<V> d;
  return hn::BitCast(d, hn::ShiftLeft<kBits>(hn::BitCast(hn::Repartition<uint16_t, decltype(d)>(), v)));
}
template <class V>
HWY_INLINE V LowNibbles(V v) {
  return hn::And(v, hn::Set(hn::DFromV<V>(), 15));
}
template <class V>
HWY_INLINE V HighNibbles(V v) {
  return LowNibbles(Right<4>(v));
}

/// Vectors of sixteen bytes as a wide one: both, or the one with element i of 32.
template <class D>
HWY_INLINE hn::Vec<D> Joined(D d, V8 low, V8 high, size_t i) {
  if constexpr (hn::MaxLanes(d) == 32) {
    return hn::Combine(d, high, low);
  } else {
    return i < 16 ? low : high;
  }
}

/// Elements i to i + kWide - 1 of 32 of 4 bits: the low halves of 16 bytes, then the high ones.
HWY_INLINE VWide NibblesAt(const uint8_t* from, size_t i) {
  const V8 v = LoadBytes(from);
  return LowNibbles(Joined(DWide(), v, Right<4>(v), i));
}

/// A table of sixteen bytes, for TableLookupBytes().
HWY_INLINE VWide Table16(const std::array<int8_t, 16>& table) {
  return hn::LoadDup128(DWide(), reinterpret_cast<const uint8_t*>(table.data()));
}

/// 0xFF for each of the lowest bits that is set, 0 for the others.
HWY_INLINE VWide MaskOfBits(uint32_t bits) {
  alignas(32) static constexpr uint8_t kByte[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1,
                                                  2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3};
  const hn::Repartition<uint32_t, DWide> d32;
  const hn::Repartition<uint64_t, DWide> d64;
  const VWide bytes =
      hn::TableLookupBytes(hn::BitCast(DWide(), hn::Set(d32, bits)), hn::Load(DWide(), kByte));
  const VWide bit = hn::BitCast(DWide(), hn::Set(d64, 0x8040201008040201));
  return hn::VecFromMask(DWide(), hn::Eq(hn::And(bytes, bit), bit));
}

template <class T>
HWY_INLINE T LoadAs(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The value of a float16.
HWY_INLINE float Half(const uint8_t* from) {
  return hn::GetLane(WidenFloat16(hn::Set(D16(), LoadAs<uint16_t>(from))));
}

/// of(number) for each of `count` integers of 8 or 16 bits; `count` is a multiple of 8.
template <class T, class Of>
HWY_INLINE void ScalesOf(const T* numbers, size_t count, float* to, const Of& of) {
  const DScales df;
  const hn::Rebind<int32_t, DScales> di;
  const hn::Rebind<T, DScales> d;
  for (size_t i = 0; i < count; i += hn::Lanes(df)) {
    const auto number = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d, numbers + i)));
    hn::StoreU(of(number), df, to + i);
  }
}

/// d times each number.
template <class T>
HWY_INLINE void ScaleNumbers(const T* numbers, size_t count, float d, float* to) {
  ScalesOf(numbers, count, to, [d](auto number) DEQUANT_ATTR {
    return hn::Mul(number, hn::Set(DScales(), d));
  });
}

/// Unpacks blocks one after the other by kOne.
template <BlockType kType, void (*kOne)(const uint8_t*, const UnpackedBlocks&)>
void UnpackAll(const uint8_t* blocks, size_t count, const UnpackedBlocks& to) {
  constexpr BlockTraits kTraits = traits(kType);
  UnpackedBlocks at = to;
  for (size_t i = 0; i < count; ++i, blocks += kTraits.bytes) {
    kOne(blocks, at);
    at.codes += kTraits.elements;
    at.scales += kTraits.elements / kTraits.group;
    if (kTraits.has_offsets) at.offsets += kTraits.elements / kTraits.group;
  }
}

/// Codes that are bytes.
HWY_INLINE void CopyCodes(const uint8_t* from, size_t count, const UnpackedBlocks& to) {
  if (to.in_place) return;
  for (size_t i = 0; i < count; i += kWide) StoreCodes(LoadWide(from + i), to.codes + i);
}

/// 32 codes of 4 bits less kZero.
template <int kZero>
HWY_INLINE void Nibbles(const uint8_t* from, int8_t* to) {
  for (size_t i = 0; i < 32; i += kWide) StoreCodes(hn::Sub(NibblesAt(from, i), SetWide(kZero)), to + i);
}

/// 32 codes of 5 bits less kZero, which is 0 or 16: a fifth bit that is clear sets the upper bits.
template <int kZero>
HWY_INLINE void Nibbles5(const uint8_t* from, const uint8_t* high, int8_t* to) {
  const auto bits = LoadAs<uint32_t>(high);
  for (size_t i = 0; i < 32; i += kWide) {
    const VWide set = MaskOfBits(bits >> i);
    const VWide upper = kZero == 0 ? hn::And(set, SetWide(16)) : hn::AndNot(set, SetWide(-16));
    StoreCodes(hn::Or(NibblesAt(from, i), upper), to + i);
  }
}

/// 32 values of a table.
HWY_INLINE void LookUpNibbles(const uint8_t* from, const std::array<int8_t, 16>& table,
                              int8_t* to) {
  for (size_t i = 0; i < 32; i += kWide) {
    StoreCodes(hn::TableLookupBytes(Table16(table), NibblesAt(from, i)), to + i);
  }
}

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
    const VWide mask = MaskOfBits(LoadAs<uint32_t>(block + 2 + i / 32 * 4) >> i % 32);
    StoreCodes(hn::IfVecThenElse(mask, SetWide(1), SetWide(-1)), to.codes + i);
  }
}

HWY_INLINE void UnpackQ2_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  const V8 v = LoadBytes(block + 2);
  const auto codes = [](V8 bits)
                         DEQUANT_ATTR {
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
