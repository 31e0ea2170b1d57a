// Decoders of 8-bit floats. Every value is exact in bfloat16, and bfloat16 codes are widened to
// float32.
#include <array>

#include "hwy/highway.h"
#include "kernel/decode-inl.h"
#include "kernel/lut.h"

#if defined(DEQUANT_DECODE_FLOAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_DECODE_FLOAT_INL_H_
#undef DEQUANT_DECODE_FLOAT_INL_H_
#else
#define DEQUANT_DECODE_FLOAT_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3_DL

/// Widens two vectors of bfloat16 codes to four vectors of float32: for each, the codes in even
/// lanes, then the codes in odd lanes.
HWY_INLINE void WidenEvenAndOdd(const hn::Vec<hn::ScalableTag<uint16_t>>* words, VF* raw) {
  for (size_t half = 0; half < 2; ++half) {
    const VU pair = hn::BitCast(DU(), words[half]);
    raw[2 * half] = hn::BitCast(DF(), hn::ShiftLeft<16>(pair));
    raw[2 * half + 1] = hn::BitCast(DF(), hn::And(pair, hn::Set(DU(), 0xFFFF0000)));
  }
}

/// An 8-bit float. Two tables of 256 bytes in registers hold the lower and the upper bytes of the
/// bfloat16 codes of all values.
struct Float8Bytes {
  static constexpr int kBits = 8;
  using Raw = VF;
  using D8 = hn::ScalableTag<uint8_t>;
  using D16 = hn::ScalableTag<uint16_t>;
  using V8 = hn::Vec<D8>;
  /// Byte i of the permuted codes is the code of this index.
  using Order = std::array<uint8_t, 64>;

  /// The order of codes with which Decode() yields the elements of a step in order. Words()
  /// interleaves bytes within 128-bit blocks: words[0] has the lower 8 bytes of each block,
  /// words[1] the upper 8. Then WidenEvenAndOdd() separates even and odd words.
  static constexpr Order kOrder = [] {
    Order order{};
    for (size_t i = 0; i < order.size(); ++i) {
      const size_t word = i % 8;
      const size_t vector = i % 16 / 8 * 2 + word % 2;
      order[i] = static_cast<uint8_t>(16 * vector + i / 16 * 4 + word / 2);
    }
    return order;
  }();

  V8 low[4];
  V8 high[4];
  V8 order;

  /// The table of lut.h: 256 values, the lower bytes of their bfloat16 codes, the upper bytes.
  explicit HWY_INLINE Float8Bytes(const float* lut)
      : Float8Bytes(reinterpret_cast<const uint8_t*>(lut + 256), kOrder) {}

  /// `bytes`: the lower bytes of the 16-bit words to look up, for all codes, then the upper bytes.
  HWY_INLINE Float8Bytes(const uint8_t* bytes, const Order& permutation) {
    for (size_t i = 0; i < 4; ++i) {
      low[i] = hn::LoadU(D8(), bytes + 64 * i);
      high[i] = hn::LoadU(D8(), bytes + 256 + 64 * i);
    }
    order = hn::LoadU(D8(), permutation.data());
  }

  static HWY_INLINE __m512i LookUp(const V8* table, __m512i code, __mmask64 upper) {
    const __m512i first = _mm512_permutex2var_epi8(table[0].raw, code, table[1].raw);
    const __m512i second = _mm512_permutex2var_epi8(table[2].raw, code, table[3].raw);
    return _mm512_mask_blend_epi8(upper, first, second);
  }

  /// The 16-bit words of the codes of a step, interleaved from the permuted codes.
  HWY_INLINE void Words(const uint8_t* p, hn::Vec<D16>* words) const {
    const __m512i code = _mm512_permutexvar_epi8(order.raw, hn::LoadU(D8(), p).raw);
    const __mmask64 upper = _mm512_movepi8_mask(code);
    const __m512i lower_bytes = LookUp(low, code, upper);
    const __m512i upper_bytes = LookUp(high, code, upper);
    words[0] = hn::Vec<D16>{_mm512_unpacklo_epi8(lower_bytes, upper_bytes)};
    words[1] = hn::Vec<D16>{_mm512_unpackhi_epi8(lower_bytes, upper_bytes)};
  }

  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    hn::Vec<D16> words[2];
    Words(p, words);
    WidenEvenAndOdd(words, raw);
  }
  static HWY_INLINE VF Difference(VF x, VI) { return x; }
};

template <bool kInfinity>
using Float8 = Float8Bytes;

#else

/// Widens two vectors of bfloat16 codes to four vectors of float32: for each, the lower halves of
/// its 128-bit blocks, then the upper halves.
HWY_INLINE void WidenLowerAndUpper(const hn::Vec<hn::ScalableTag<uint16_t>>* words, VF* raw) {
  const hn::ScalableTag<uint16_t> d;
  const auto zero = hn::Zero(d);
  for (size_t half = 0; half < 2; ++half) {
    raw[2 * half] = hn::BitCast(DF(), hn::InterleaveLower(d, zero, words[half]));
    raw[2 * half + 1] = hn::BitCast(DF(), hn::InterleaveUpper(d, zero, words[half]));
  }
}

/// An 8-bit float. The two bytes of a value's bfloat16 code are sums of entries of 16-byte tables:
/// DigitSums in lut.h. The codes of a step, one vector, are looked up together before they are
/// widened.
template <bool kInfinity>
struct Float8 {
  static constexpr int kBits = 8;
  using Raw = VF;
  using D8 = hn::ScalableTag<uint8_t>;
  using D16 = hn::ScalableTag<uint16_t>;
  using V8 = hn::Vec<D8>;
  static constexpr size_t kBlocks = HWY_MAX_BYTES / 16;

  /// The order, in words of four codes, with which Decode() yields the elements of a step in order:
  /// word i of the permuted codes is word kOrder[i]. Widening to 16 and then to 32 bits interleaves
  /// within 128-bit blocks, so that each of the four vectors gets four codes of each block.
  static constexpr auto kOrder = [] {
    std::array<int32_t, kMaxLanes> order{};
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<int32_t>(i % kStepVectors * kBlocks + i / kStepVectors);
    }
    return order;
  }();

  /// The order with which a widening to 16 bits alone yields the elements in order: each of the two
  /// vectors gets eight codes of each 128-bit block.
  static constexpr auto kWordOrder = [] {
    std::array<int32_t, kMaxLanes> order{};
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<int32_t>(i % 4 / 2 * (kMaxLanes / 2) + i / 4 * 2 + i % 2);
    }
    return order;
  }();

  V8 low;
  V8 high;
  V8 row;
  V8 first_low;
  V8 first_high;
  V8 nan_mask;
  V8 nan;

  explicit HWY_INLINE Float8(const float* lut) : Float8(*digit_sums_behind(lut)) {}

  explicit HWY_INLINE Float8(const DigitSums& sums)
      : low(hn::LoadDup128(D8(), sums.low.data())),
        high(hn::LoadDup128(D8(), sums.high.data())),
        row(hn::LoadDup128(D8(), sums.row.data())),
        first_low(hn::LoadDup128(D8(), sums.first_low.data())),
        first_high(hn::LoadDup128(D8(), sums.first_high.data())),
        nan_mask(hn::Set(D8(), sums.nan_mask)),
        nan(hn::Set(D8(), sums.nan)) {}

  /// The codes of a step, with their words of four codes in the given order.
  static HWY_INLINE V8 Load(const uint8_t* p, const std::array<int32_t, kMaxLanes>& order) {
    const auto codes = hn::LoadU(DU(), reinterpret_cast<const uint32_t*>(p));
    if constexpr (kBlocks == 1) return hn::BitCast(D8(), codes);
    return hn::BitCast(D8(), hn::TableLookupLanes(codes, hn::SetTableIndices(DU(), order.data())));
  }

  /// The index of a code for TableLookupBytesOr0() in first_low and first_high, which yields zero
  /// for codes of 16 and more. On x86 an index yields zero if its highest bit is set, on Arm if it
  /// is 16 or more.
  static HWY_INLINE V8 First(V8 magnitude) {
#if HWY_ARCH_X86
    return hn::SaturatedAdd(magnitude, hn::Set(D8(), 0x70));
#else
    return magnitude;
#endif
  }

  /// The 16-bit words that the sums give for codes x: bfloat16 codes, or results in another format.
  /// kNan is the NaN of that format.
  template <int kNan>
  HWY_INLINE void Words(V8 x, hn::Vec<D16>* words) const {
    const auto set = [](int v) DEQUANT_ATTR { return hn::Set(D8(), static_cast<uint8_t>(v)); };
    const auto magnitude = hn::And(x, set(0x7F));
    const auto first = First(magnitude);
    const auto digit = hn::And(x, set(0x0F));
    auto lower =
        hn::Add(hn::TableLookupBytes(low, digit), hn::TableLookupBytesOr0(first_low, first));
    auto upper =
        hn::Add(hn::TableLookupBytes(high, digit), hn::TableLookupBytes(row, hn::ShiftRight<4>(x)));
    upper = hn::Add(upper, hn::TableLookupBytesOr0(first_high, first));
    if constexpr (kInfinity) {
      // Infinity has the bits of kNan without the highest bit of the mantissa.
      constexpr int kInfinite = kNan & (kNan << 1);
      const auto infinite = IsAbove(magnitude, 0x7B);
      const auto sign = hn::And(upper, set(0x80));
      lower = hn::IfThenElse(infinite, set(kInfinite), lower);
      upper = hn::IfThenElse(infinite, hn::Or(sign, set(kInfinite >> 8)), upper);
    }
    const auto is_nan = kInfinity ? IsAbove(magnitude, 0x7C) : hn::Eq(hn::And(x, nan_mask), nan);
    lower = hn::IfThenElse(is_nan, set(kNan), lower);
    upper = hn::IfThenElse(is_nan, set(kNan >> 8), upper);
    words[0] = hn::BitCast(D16(), hn::InterleaveLower(D8(), lower, upper));
    words[1] = hn::BitCast(D16(), hn::InterleaveUpper(D8(), lower, upper));
  }

  static HWY_INLINE hn::Mask<D8> IsAbove(V8 magnitude, int8_t most) {
    const hn::RebindToSigned<D8> di8;
    return hn::RebindMask(D8(), hn::Gt(hn::BitCast(di8, magnitude), hn::Set(di8, most)));
  }

  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
#if DEQUANT_HARDWARE_FLOAT16
    if constexpr (kInfinity) return DecodeAsFloat16(p, raw);
#endif
    hn::Vec<D16> words[2];
    Words<0x7FC0>(Load(p, kOrder), words);
    WidenLowerAndUpper(words, raw);
  }

#if DEQUANT_HARDWARE_FLOAT16
  /// A float8e5m2 code is the upper byte of the float16 code of the same value. All NaN codes are
  /// replaced by the upper byte of the canonical NaN.
  static HWY_INLINE void DecodeAsFloat16(const uint8_t* p, VF* raw) {
    const auto codes = Load(p, kWordOrder);
    const auto magnitude = hn::And(codes, hn::Set(D8(), 0x7F));
    const auto upper = hn::IfThenElse(IsAbove(magnitude, 0x7C), hn::Set(D8(), 0x7E), codes);
    const hn::Half<D16> half;
    const hn::Rebind<hwy::float16_t, DF> d16;
    const auto zero = hn::Zero(D8());
    const hn::Vec<D16> words[2] = {hn::BitCast(D16(), hn::InterleaveLower(D8(), zero, upper)),
                                   hn::BitCast(D16(), hn::InterleaveUpper(D8(), zero, upper))};
    for (size_t i = 0; i < 2; ++i) {
      raw[2 * i] = hn::PromoteTo(DF(), hn::BitCast(d16, hn::LowerHalf(half, words[i])));
      raw[2 * i + 1] = hn::PromoteTo(DF(), hn::BitCast(d16, hn::UpperHalf(half, words[i])));
    }
  }
#endif

  static HWY_INLINE VF Difference(VF x, VI) { return x; }
};

#endif

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
