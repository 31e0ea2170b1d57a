// Floats of 8 bits, four vectors at a time.
#include <array>

#include "hwy/highway.h"
#include "kernel/decode-inl.h"

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

/// Any of them: each value is a bfloat16, so two tables of 256 bytes, in registers, have them all.
template <Element>
struct Float8 {
  static constexpr int kBits = 8;
  using Raw = VF;
  using D8 = hn::ScalableTag<uint8_t>;
  using V8 = hn::Vec<D8>;

  /// Decode() interleaves bytes within blocks of 16: words from the lower 8 of each, then words from the
  /// upper 8. Even words become one vector, odd ones another. This puts each code where it must start.
  static constexpr auto kOrder = [] {
    std::array<uint8_t, 64> order{};
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

  /// Behind the 256 values lie the lower bytes of their bfloat16 codes, then the upper ones.
  explicit HWY_INLINE Float8(const float* lut) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(lut + 256);
    for (size_t i = 0; i < 4; ++i) {
      low[i] = hn::LoadU(D8(), bytes + 64 * i);
      high[i] = hn::LoadU(D8(), bytes + 256 + 64 * i);
    }
    order = hn::LoadU(D8(), kOrder.data());
  }

  static HWY_INLINE __m512i Look(const V8* table, __m512i code, __mmask64 upper) {
    const __m512i first = _mm512_permutex2var_epi8(table[0].raw, code, table[1].raw);
    const __m512i second = _mm512_permutex2var_epi8(table[2].raw, code, table[3].raw);
    return _mm512_mask_blend_epi8(upper, first, second);
  }

  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    const __m512i code = _mm512_permutexvar_epi8(order.raw, hn::LoadU(D8(), p).raw);
    const __mmask64 upper = _mm512_movepi8_mask(code);
    const __m512i lower_bytes = Look(low, code, upper);
    const __m512i upper_bytes = Look(high, code, upper);
    const __m512i words[2] = {_mm512_unpacklo_epi8(lower_bytes, upper_bytes),
                              _mm512_unpackhi_epi8(lower_bytes, upper_bytes)};
    for (size_t half = 0; half < 2; ++half) {
      const VU pair{words[half]};
      raw[2 * half] = hn::BitCast(DF(), hn::ShiftLeft<16>(pair));
      raw[2 * half + 1] = hn::BitCast(DF(), hn::And(pair, hn::Set(DU(), 0xFFFF0000)));
    }
  }
  static HWY_INLINE VF Difference(VF x, VI) { return x; }
};

#elif DEQUANT_HARDWARE_FLOAT16

/// By way of float16, which the hardware widens exactly, subnormals included, and one exact
/// multiplication. NaN becomes the canonical one before that.
template <Element kElement>
struct Float8 {
  static constexpr int kBits = 8;
  static constexpr bool kZeroed =
      kElement == Element::float8e4m3fnuz || kElement == Element::float8e5m2fnuz;
  using Raw = VF;
  using D16 = hn::Rebind<int16_t, DF>;
  using V16 = hn::Vec<D16>;

  explicit HWY_INLINE Float8(const float*) {}

  /// Codes as float16 of the value times a power of two.
  static HWY_INLINE V16 Half(V16 x) {
    const auto set = [](int v) DEQUANT_ATTR { return hn::Set(D16(), static_cast<int16_t>(v)); };
    const auto magnitude = hn::And(x, set(0x7F));
    V16 half;
    if constexpr (kElement == Element::float8e5m2) {
      half = hn::ShiftLeft<8>(x);
    } else if constexpr (kElement == Element::float8e5m2fnuz) {
      // Its exponent is one more than float16's, so the two lowest are subnormal there.
      const auto normal = hn::Sub(hn::ShiftLeft<8>(magnitude), set(0x400));
      half = hn::Or(hn::Max(normal, hn::ShiftLeft<7>(magnitude)), hn::And(x, set(-0x8000)));
    } else {
      half = hn::And(hn::ShiftLeft<7>(x), set(0xBF80 - 0x10000));
    }
    const auto nan = [&]() DEQUANT_ATTR {
      if constexpr (kZeroed) return hn::Eq(x, set(-0x80));
      if constexpr (kElement == Element::float8e5m2) return hn::Gt(magnitude, set(0x7C));
      return hn::Eq(magnitude, set(0x7F));
    }();
    return hn::IfThenElse(nan, set(0x7E00), half);
  }

  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    const hn::Rebind<int8_t, DF> d8;
    const size_t lanes = hn::Lanes(DF());
    const auto factor = hn::Set(DF(), kElement == Element::float8e4m3fn     ? 256.0F
                                      : kElement == Element::float8e4m3fnuz ? 128.0F
                                                                            : 1.0F);
    for (size_t q = 0; q < kGroup; ++q) {
      const auto x = hn::LoadU(d8, reinterpret_cast<const int8_t*>(p + q * lanes));
      const auto half =
          hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), Half(hn::PromoteTo(D16(), x)));
      raw[q] = hn::PromoteTo(DF(), half);
      if constexpr (kBias) raw[q] = hn::Mul(raw[q], factor);
    }
  }
  static HWY_INLINE VF Difference(VF x, VI) { return x; }

 private:
  static constexpr bool kBias =
      kElement == Element::float8e4m3fn || kElement == Element::float8e4m3fnuz;
};

#else

/// The value of every code is in a table.
template <Element>
struct Float8 {
  static constexpr int kBits = 8;
  using Raw = VF;
  const float* values;

  explicit HWY_INLINE Float8(const float* lut) : values(lut) {}
  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    const hn::Rebind<uint8_t, DI> d8;
    const size_t lanes = hn::Lanes(DF());
    for (size_t q = 0; q < kGroup; ++q) {
      raw[q] = hn::GatherIndex(DF(), values, hn::PromoteTo(DI(), hn::LoadU(d8, p + q * lanes)));
    }
  }
  static HWY_INLINE VF Difference(VF x, VI) { return x; }
};

#endif

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
