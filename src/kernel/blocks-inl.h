// Unpacking blocks: what the types share. The layouts are those of src/block/, whose functions give
// the same codes and scales.
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
  return hn::BitCast(
      d, hn::ShiftRight<kBits>(hn::BitCast(hn::Repartition<uint16_t, decltype(d)>(), v)));
}
template <int kBits, class V>
HWY_INLINE V Left(V v) {
  const hn::DFromV<V> d;
  return hn::BitCast(
      d, hn::ShiftLeft<kBits>(hn::BitCast(hn::Repartition<uint16_t, decltype(d)>(), v)));
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

/// The lanes of which the bit of the same number is set.
HWY_INLINE hn::Mask<DWide> MaskOfBits(uint32_t bits) {
  uint8_t bytes[8] = {};  // LoadMaskBits reads eight
  std::memcpy(bytes, &bits, sizeof bits);
  return hn::LoadMaskBits(DWide(), bytes);
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
  ScalesOf(numbers, count, to,
           [d](auto number) DEQUANT_ATTR { return hn::Mul(number, hn::Set(DScales(), d)); });
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
  for (size_t i = 0; i < 32; i += kWide)
    StoreCodes(hn::Sub(NibblesAt(from, i), SetWide(kZero)), to + i);
}

/// 32 codes of 5 bits less kZero, which is 0 or 16: a fifth bit that is clear sets the upper bits.
template <int kZero>
HWY_INLINE void Nibbles5(const uint8_t* from, const uint8_t* high, int8_t* to) {
  const auto bits = LoadAs<uint32_t>(high);
  for (size_t i = 0; i < 32; i += kWide) {
    const auto set = MaskOfBits(bits >> i);
    const VWide upper =
        kZero == 0 ? hn::IfThenElseZero(set, SetWide(16)) : hn::IfThenZeroElse(set, SetWide(-16));
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

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
