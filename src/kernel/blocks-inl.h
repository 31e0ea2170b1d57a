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

/// Sixteen bytes, which every target has.
using D8 = hn::FixedTag<uint8_t, 16>;
using V8 = hn::Vec<D8>;
using D8As16 = hn::FixedTag<uint16_t, 8>;
/// Up to eight scales at once.
using DScales = hn::CappedTag<float, 8>;

HWY_INLINE V8 LoadBytes(const uint8_t* from) { return hn::LoadU(D8(), from); }
HWY_INLINE V8 Bytes(int value) { return hn::Set(D8(), static_cast<uint8_t>(value)); }
HWY_INLINE void StoreCodes(V8 codes, int8_t* to) {
  hn::StoreU(codes, D8(), reinterpret_cast<uint8_t*>(to));
}

/// Shifts of words of 16 bits: bits of the other byte move in, and must be masked.
template <int kBits>
HWY_INLINE V8 Right(V8 v) {
  return hn::BitCast(D8(), hn::ShiftRight<kBits>(hn::BitCast(D8As16(), v)));
}
template <int kBits>
HWY_INLINE V8 Left(V8 v) {
  return hn::BitCast(D8(), hn::ShiftLeft<kBits>(hn::BitCast(D8As16(), v)));
}
HWY_INLINE V8 LowNibbles(V8 v) { return hn::And(v, Bytes(15)); }
HWY_INLINE V8 HighNibbles(V8 v) { return hn::And(Right<4>(v), Bytes(15)); }

/// 0xFF for each set bit of sixteen, the lowest first; 0 for the others.
HWY_INLINE V8 MaskOfBits(uint32_t bits) {
  alignas(16) static constexpr uint8_t kByte[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
  alignas(16) static constexpr uint8_t kBit[] = {1, 2, 4, 8, 16, 32, 64, 128,
                                                 1, 2, 4, 8, 16, 32, 64, 128};
  const V8 pair = hn::BitCast(D8(), hn::Set(D8As16(), static_cast<uint16_t>(bits)));
  const V8 bit = hn::Load(D8(), kBit);
  const V8 bytes = hn::TableLookupBytes(pair, hn::Load(D8(), kByte));
  return hn::VecFromMask(D8(), hn::Eq(hn::And(bytes, bit), bit));
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

/// d times each of `count` bytes, uint8_t or int8_t; `count` is a multiple of 8.
template <class T>
HWY_INLINE void ScaleBytes(const T* bytes, size_t count, float d, float* to) {
  const DScales df;
  const hn::Rebind<int32_t, DScales> di;
  const hn::Rebind<T, DScales> d8;
  for (size_t i = 0; i < count; i += hn::Lanes(df)) {
    const auto number = hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(d8, bytes + i)));
    hn::StoreU(hn::Mul(number, hn::Set(df, d)), df, to + i);
  }
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

HWY_INLINE void CopyCodes(const uint8_t* from, size_t count, int8_t* to) {
  for (size_t i = 0; i < count; i += 16) StoreCodes(LoadBytes(from + i), to + i);
}

/// 32 codes of 4 bits less kZero.
template <int kZero>
HWY_INLINE void Nibbles(const uint8_t* from, int8_t* to) {
  const V8 v = LoadBytes(from);
  StoreCodes(hn::Sub(LowNibbles(v), Bytes(kZero)), to);
  StoreCodes(hn::Sub(HighNibbles(v), Bytes(kZero)), to + 16);
}

/// 32 codes of 5 bits less kZero.
template <int kZero>
HWY_INLINE void Nibbles5(const uint8_t* from, const uint8_t* high, int8_t* to) {
  const V8 v = LoadBytes(from);
  const auto bits = LoadAs<uint32_t>(high);
  const auto code = [](V8 nibbles, uint32_t top) DEQUANT_ATTR {
    return hn::Sub(hn::Or(nibbles, hn::And(MaskOfBits(top), Bytes(16))), Bytes(kZero));
  };
  StoreCodes(code(LowNibbles(v), bits), to);
  StoreCodes(code(HighNibbles(v), bits >> 16), to + 16);
}

/// 32 values of a table.
HWY_INLINE void LookUpNibbles(const uint8_t* from, const std::array<int8_t, 16>& table,
                              int8_t* to) {
  const V8 values = LoadBytes(reinterpret_cast<const uint8_t*>(table.data()));
  const V8 v = LoadBytes(from);
  StoreCodes(hn::TableLookupBytes(values, LowNibbles(v)), to);
  StoreCodes(hn::TableLookupBytes(values, HighNibbles(v)), to + 16);
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
  CopyCodes(block + 2, 32, to.codes);
}

HWY_INLINE void UnpackQ8_1(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  CopyCodes(block + 4, 32, to.codes);
}

HWY_INLINE void UnpackQ8_K(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = LoadAs<float>(block);
  CopyCodes(block + 4, 256, to.codes);
}

HWY_INLINE void UnpackMXFP4(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = block::half_of_e8m0(*block);
  LookUpNibbles(block + 1, block::kTwiceFloat4, to.codes);
}

HWY_INLINE void UnpackNVFP4(const uint8_t* block, const UnpackedBlocks& to) {
  const V8 values = LoadBytes(reinterpret_cast<const uint8_t*>(block::kTwiceFloat4.data()));
  const hn::FixedTag<uint64_t, 2> d64;
  for (int i = 0; i < 4; ++i) to.scales[i] = block::kHalfOfUE4M3[block[i]];
  for (int i = 0; i < 2; ++i) {
    // The codes of two scales: eight bytes for each.
    const V8 v = LoadBytes(block + 4 + 16 * i);
    const auto low = hn::BitCast(d64, hn::TableLookupBytes(values, LowNibbles(v)));
    const auto high = hn::BitCast(d64, hn::TableLookupBytes(values, HighNibbles(v)));
    StoreCodes(hn::BitCast(D8(), hn::InterleaveLower(d64, low, high)), to.codes + 32 * i);
    StoreCodes(hn::BitCast(D8(), hn::InterleaveUpper(d64, low, high)), to.codes + 32 * i + 16);
  }
}

HWY_INLINE void UnpackIQ4_NL(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  LookUpNibbles(block + 2, block::kUnequalSteps, to.codes);
}

HWY_INLINE void UnpackQ1_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  for (int i = 0; i < 8; ++i) {
    const V8 mask = MaskOfBits(LoadAs<uint16_t>(block + 2 + 2 * i));
    StoreCodes(hn::IfVecThenElse(mask, Bytes(1), Bytes(0xFF)), to.codes + 16 * i);
  }
}

HWY_INLINE void UnpackQ2_0(const uint8_t* block, const UnpackedBlocks& to) {
  *to.scales = Half(block);
  const V8 v = LoadBytes(block + 2);
  const auto codes = [](V8 bits)
                         DEQUANT_ATTR { return hn::Sub(hn::And(bits, Bytes(3)), Bytes(1)); };
  const V8 a = codes(v);
  const V8 b = codes(Right<2>(v));
  const V8 c = codes(Right<4>(v));
  const V8 d = codes(Right<6>(v));
  // Of each byte its four codes: pairs, then pairs of pairs.
  const auto four = [&](V8 first, V8 second, int8_t* out) DEQUANT_ATTR {
    const auto ab = hn::BitCast(D8As16(), first);
    const auto cd = hn::BitCast(D8As16(), second);
    StoreCodes(hn::BitCast(D8(), hn::InterleaveLower(D8As16(), ab, cd)), out);
    StoreCodes(hn::BitCast(D8(), hn::InterleaveUpper(D8As16(), ab, cd)), out + 16);
  };
  four(hn::InterleaveLower(D8(), a, b), hn::InterleaveLower(D8(), c, d), to.codes);
  four(hn::InterleaveUpper(D8(), a, b), hn::InterleaveUpper(D8(), c, d), to.codes + 32);
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
