// Decoders of 6-bit floats: a quadruple of codes fills three bytes. Each of the 64 values is exact
// in bfloat16, and the two bytes of its bfloat16 code are looked up in registers.
#include <array>

#include "hwy/highway.h"
#include "kernel/decode-inl.h"
#include "kernel/decode_float-inl.h"

#if defined(DEQUANT_DECODE_FLOAT6_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_DECODE_FLOAT6_INL_H_
#undef DEQUANT_DECODE_FLOAT6_INL_H_
#else
#define DEQUANT_DECODE_FLOAT6_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// The 64 lower bytes of the values' bfloat16 codes in the table of lut.h; the 64 upper bytes
/// follow.
HWY_INLINE const uint8_t* Bfloat16Bytes(const float* lut) {
  return reinterpret_cast<const uint8_t*>(lut + 64);
}

#if HWY_TARGET == HWY_AVX3_DL

/// How 6-bit codes are unpacked to bytes: `byte` is a permutation that brings the six bytes with
/// the eight codes of a 64-bit lane into the lane; `bit` is, for each unpacked byte, the bit of the
/// lane at which its code starts.
struct Float6Order {
  using Bytes = std::array<uint8_t, 64>;
  Bytes byte{};
  Bytes bit{};

  /// Unpacked byte i is the code of index code[i]. The eight codes of a lane must be two
  /// quadruples, in any order.
  explicit constexpr Float6Order(const Bytes& code) {
    for (size_t lane = 0; lane < 64; lane += 8) {
      const size_t first = code[lane] / 4;  // the index of a quadruple
      size_t second = first;
      for (size_t i = lane; i < lane + 8; ++i) {
        if (code[i] / 4 != first) second = code[i] / 4;
      }
      for (size_t k = 0; k < 3; ++k) {
        byte[lane + k] = static_cast<uint8_t>(3 * first + k);
        byte[lane + 3 + k] = static_cast<uint8_t>(3 * second + k);
      }
      for (size_t i = lane; i < lane + 8; ++i) {
        bit[i] = static_cast<uint8_t>(code[i] % 4 * 6 + (code[i] / 4 == first ? 0 : 24));
      }
    }
  }
};

/// A 6-bit float. Two tables of 64 bytes hold the lower and the upper bytes of all 16-bit words.
struct Float6 {
  static constexpr int kBits = 6;
  using Raw = VF;
  using D8 = hn::ScalableTag<uint8_t>;
  using D16 = hn::ScalableTag<uint16_t>;
  using V8 = hn::Vec<D8>;
  using Order = Float6Order;
  static constexpr Order kOrder{Float8Bytes::kOrder};

  V8 low;
  V8 high;
  V8 byte;
  V8 bit;

  explicit HWY_INLINE Float6(const float* lut) : Float6(Bfloat16Bytes(lut), kOrder) {}

  /// `bytes`: the 64 lower bytes of the 16-bit words to look up, then the 64 upper bytes.
  HWY_INLINE Float6(const uint8_t* bytes, const Order& order)
      : low(hn::LoadU(D8(), bytes)),
        high(hn::LoadU(D8(), bytes + 64)),
        byte(hn::LoadU(D8(), order.byte.data())),
        bit(hn::LoadU(D8(), order.bit.data())) {}

  /// The 16-bit words of the codes of a step, interleaved from the permuted codes.
  HWY_INLINE void Words(const uint8_t* p, hn::Vec<D16>* words) const {
    const __m512i packed = _mm512_maskz_loadu_epi32(0x0FFF, p);
    // Bits above a code need no mask: a lookup in 64 bytes uses the six lowest bits of an index.
    const __m512i codes =
        _mm512_multishift_epi64_epi8(bit.raw, _mm512_permutexvar_epi8(byte.raw, packed));
    const __m512i lower = _mm512_permutexvar_epi8(codes, low.raw);
    const __m512i upper = _mm512_permutexvar_epi8(codes, high.raw);
    words[0] = hn::Vec<D16>{_mm512_unpacklo_epi8(lower, upper)};
    words[1] = hn::Vec<D16>{_mm512_unpackhi_epi8(lower, upper)};
  }

  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    hn::Vec<D16> words[2];
    Words(p, words);
    WidenEvenAndOdd(words, raw);
  }
  static HWY_INLINE VF Difference(VF x, VI) { return x; }
};

#else

/// A 6-bit float. The two bytes of a 16-bit word are sums of entries of 16-byte tables: `low` and
/// `high` hold the bytes of the magnitudes 16 to 31, first_low and first_high what must be added,
/// modulo 256, for the magnitudes 0 to 15.
struct Float6 {
  static constexpr int kBits = 6;
  using Raw = VF;
  using D8 = hn::ScalableTag<uint8_t>;
  using D16 = hn::ScalableTag<uint16_t>;
  using V8 = hn::Vec<D8>;
  using Order = std::array<int32_t, kMaxLanes>;
  static constexpr size_t kBlocks = HWY_MAX_BYTES / 16;

  V8 low;
  V8 high;
  V8 first_low;
  V8 first_high;

  explicit HWY_INLINE Float6(const float* lut)
      : Float6(Bfloat16Bytes(lut), Bfloat16Bytes(lut) + 64) {}

  /// The lower and the upper bytes of the 16-bit words to look up, for the codes 0 to 31.
  HWY_INLINE Float6(const uint8_t* lower, const uint8_t* upper)
      : low(hn::LoadDup128(D8(), lower + 16)),
        high(hn::LoadDup128(D8(), upper + 16)),
        first_low(hn::Sub(hn::LoadDup128(D8(), lower), low)),
        first_high(hn::Sub(hn::LoadDup128(D8(), upper), high)) {}

  /// The codes of a step, one in each byte: 32-bit lane i has the quadruple of index kOrder[i].
  template <const Order& kOrder>
  static HWY_INLINE V8 Load(const uint8_t* p) {
    const DU d;
    const VU packed = Triples<kOrder>(p);
    const VU two = hn::OrAnd(hn::And(packed, hn::Set(d, 0x00000FFF)), hn::ShiftLeft<4>(packed),
                             hn::Set(d, 0x0FFF0000));
    const VU four = hn::OrAnd(hn::And(two, hn::Set(d, 0x003F003F)), hn::ShiftLeft<2>(two),
                              hn::Set(d, 0x3F003F00));
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    return hn::BitCast(D8(), four);
#else
    if constexpr (kBlocks == 1) return hn::BitCast(D8(), four);
    return hn::BitCast(D8(), hn::TableLookupLanes(four, hn::SetTableIndices(d, kOrder.data())));
#endif
  }

  /// The three bytes of a quadruple in the lower bits of each 32-bit lane: on AVX-512 in the order
  /// kOrder, on other targets in the order of memory.
  template <const Order& kOrder>
  static HWY_INLINE VU Triples(const uint8_t* p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    // A lane gets the two 16-bit words that hold its three bytes. Where the bytes start in the
    // middle of a word, a shift drops the byte before them.
    alignas(64) static constexpr auto kWord = [] {
      std::array<uint16_t, 32> word{};
      for (size_t i = 0; i < word.size(); ++i) {
        word[i] = static_cast<uint16_t>(kOrder[i / 2] * 3 / 2 + static_cast<int32_t>(i % 2));
      }
      return word;
    }();
    alignas(64) static constexpr auto kDown = [] {
      std::array<uint32_t, 16> down{};
      for (size_t i = 0; i < down.size(); ++i) down[i] = kOrder[i] % 2 == 0 ? 0 : 8;
      return down;
    }();
    const __m512i packed = _mm512_maskz_loadu_epi32(0x0FFF, p);
    const __m512i words = _mm512_permutexvar_epi16(_mm512_load_si512(kWord.data()), packed);
    return VU{_mm512_srlv_epi32(words, _mm512_load_si512(kDown.data()))};
#else
    // Two loads of half a vector each. The second ends with the last code, so that no byte after
    // the codes is read. Vectors of 32 bytes: each half has all bytes that its 128-bit block needs.
    static constexpr auto kByte = [] {
      std::array<uint8_t, HWY_MAX_BYTES> byte{};
      for (size_t i = 0; i < byte.size(); ++i) {
        const size_t from = i / 4 * 3 + i % 4;  // index in the packed bytes
        const size_t half = kBlocks == 1 ? 8 : 16;
        const size_t second = HWY_MAX_BYTES * 3 / 4 - half;  // where the second load starts
        const bool in_second = kBlocks == 1 ? from >= half : i >= 16;
        const size_t at = in_second ? from - second + (kBlocks == 1 ? half : 0) : from;
        byte[i] = i % 4 == 3 ? 0x80 : static_cast<uint8_t>(at);
      }
      return byte;
    }();
    const hn::Half<D8> half;
    const size_t second = hn::Lanes(D8()) * 3 / 4 - hn::Lanes(half);
    const V8 packed = hn::Combine(D8(), hn::LoadU(half, p + second), hn::LoadU(half, p));
    return hn::BitCast(DU(), hn::TableLookupBytesOr0(packed, hn::LoadU(D8(), kByte.data())));
#endif
  }

  /// The 16-bit words of codes x.
  HWY_INLINE void Words(V8 x, hn::Vec<D16>* words) const {
    const auto set = [](int v) DEQUANT_ATTR { return hn::Set(D8(), static_cast<uint8_t>(v)); };
    const auto magnitude = hn::And(x, set(0x1F));
#if HWY_ARCH_X86
    // An x86 lookup uses the lowest four bits of an index, and yields zero if its highest bit is
    // set.
    const auto digit = x;
    const auto first = hn::SaturatedAdd(magnitude, set(0x70));
#else
    const auto digit = hn::And(x, set(0x0F));
    const auto first = magnitude;
#endif
    const auto sign =
        hn::And(hn::BitCast(D8(), hn::ShiftLeft<2>(hn::BitCast(D16(), x))), set(0x80));
    const auto lower =
        hn::Add(hn::TableLookupBytes(low, digit), hn::TableLookupBytesOr0(first_low, first));
    const auto upper =
        hn::Add(hn::TableLookupBytes(high, digit), hn::TableLookupBytesOr0(first_high, first));
    const auto signed_upper = hn::Xor(upper, sign);
    words[0] = hn::BitCast(D16(), hn::InterleaveLower(D8(), lower, signed_upper));
    words[1] = hn::BitCast(D16(), hn::InterleaveUpper(D8(), lower, signed_upper));
  }

  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    hn::Vec<D16> words[2];
    Words(Load<Float8<false>::kOrder>(p), words);
    WidenLowerAndUpper(words, raw);
  }
  static HWY_INLINE VF Difference(VF x, VI) { return x; }
};

#endif

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
