// Floats of 6 bits, four in three bytes, four vectors at a time. All of them have 64 values, each a
// bfloat16, whose two bytes are looked up in registers.
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

/// The lower bytes of the bfloat16 codes of all 64 values lie behind the values, then the upper
/// ones.
HWY_INLINE const uint8_t* BytesBehind(const float* lut) {
  return reinterpret_cast<const uint8_t*>(lut + 64);
}

#if HWY_TARGET == HWY_AVX3_DL

/// Where codes come from: for each lane of 64 bits the bytes that hold its eight codes, and for
/// each of these the bit that it starts from.
struct Float6Order {
  using Places = std::array<uint8_t, 64>;
  Places byte{};
  Places bit{};

  /// `code` says which code becomes which byte. The eight of a lane are two times four
  /// neighbours, which fill three bytes.
  explicit constexpr Float6Order(const Places& code) {
    for (size_t lane = 0; lane < 64; lane += 8) {
      const size_t one = code[lane] / 4;
      size_t other = one;
      for (size_t i = lane; i < lane + 8; ++i) {
        if (code[i] / 4 != one) other = code[i] / 4;
      }
      for (size_t k = 0; k < 3; ++k) {
        byte[lane + k] = static_cast<uint8_t>(3 * one + k);
        byte[lane + 3 + k] = static_cast<uint8_t>(3 * other + k);
      }
      for (size_t i = lane; i < lane + 8; ++i) {
        bit[i] = static_cast<uint8_t>(code[i] % 4 * 6 + (code[i] / 4 == one ? 0 : 24));
      }
    }
  }
};

/// Tables of 64 bytes.
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

  explicit HWY_INLINE Float6(const float* lut) : Float6(BytesBehind(lut), kOrder) {}

  HWY_INLINE Float6(const uint8_t* bytes, const Order& order)
      : low(hn::LoadU(D8(), bytes)),
        high(hn::LoadU(D8(), bytes + 64)),
        byte(hn::LoadU(D8(), order.byte.data())),
        bit(hn::LoadU(D8(), order.bit.data())) {}

  /// Both bytes of each code.
  HWY_INLINE void Words(const uint8_t* p, hn::Vec<D16>* words) const {
    const __m512i packed = _mm512_maskz_loadu_epi32(0x0FFF, p);
    // Lookups in 64 bytes ignore what is above a code.
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

/// Tables of 16 bytes: one for the upper half of the magnitudes, and what the lower half adds to
/// it.
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

  explicit HWY_INLINE Float6(const float* lut) : Float6(BytesBehind(lut), BytesBehind(lut) + 64) {}

  /// The bytes of the results, or values, of the codes 0 to 31.
  HWY_INLINE Float6(const uint8_t* lower, const uint8_t* upper)
      : low(hn::LoadDup128(D8(), lower + 16)),
        high(hn::LoadDup128(D8(), upper + 16)),
        first_low(hn::Sub(hn::LoadDup128(D8(), lower), low)),
        first_high(hn::Sub(hn::LoadDup128(D8(), upper), high)) {}

  /// The next codes, a byte each, in an order of words of four codes: word i is that of kOrder[i].
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

  /// The three bytes of four codes at the low end of each lane.
  template <const Order& kOrder>
  static HWY_INLINE VU Triples(const uint8_t* p) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    // In their order at once: the words of 16 bits that hold them, and eight bits down if they
    // start within one.
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
    // Two loads that end with the codes, each of whole triples for a half of the vector.
    static constexpr auto kByte = [] {
      std::array<uint8_t, HWY_MAX_BYTES> byte{};
      for (size_t i = 0; i < byte.size(); ++i) {
        const size_t from = i / 4 * 3 + i % 4;  // of all bytes
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

  /// Both bytes of each code.
  HWY_INLINE void Words(V8 x, hn::Vec<D16>* words) const {
    const auto set = [](int v) DEQUANT_ATTR { return hn::Set(D8(), static_cast<uint8_t>(v)); };
    const auto magnitude = hn::And(x, set(0x1F));
#if HWY_ARCH_X86
    // Lookups take the lowest four bits, or give zero where the highest is set.
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
    const auto turned = hn::Xor(upper, sign);
    words[0] = hn::BitCast(D16(), hn::InterleaveLower(D8(), lower, turned));
    words[1] = hn::BitCast(D16(), hn::InterleaveUpper(D8(), lower, turned));
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
