// Outputs: one struct for each output type. Store() rounds the float32 results of a step to nearest
// even and stores them. It demands that no result is subnormal and that every NaN is the canonical
// one. StoreAny() also stores subnormal results.
#include "hwy/highway.h"
#include "kernel/decode-inl.h"

#if defined(DEQUANT_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_NARROW_INL_H_
#undef DEQUANT_NARROW_INL_H_
#else
#define DEQUANT_NARROW_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

using D16 = hn::Rebind<uint16_t, DF>;
using D16Full = hn::ScalableTag<uint16_t>;

/// Stores a vector; with `stream` by a non-temporal store, for which p must be aligned.
template <class D, class V>
HWY_INLINE void StoreOrStream(V v, D d, hn::TFromD<D>* p, bool stream) {
  if (stream) {
    hn::Stream(v, d, p);
  } else {
    hn::StoreU(v, d, p);
  }
}

struct ToFloat32 {
  using T = float;

  static HWY_INLINE void Store(const VF* v, uint8_t* y, bool stream) {
    auto* out = reinterpret_cast<float*>(y);
    const size_t lanes = hn::Lanes(DF());
    for (size_t q = 0; q < kStepVectors; ++q) StoreOrStream(v[q], DF(), out + q * lanes, stream);
  }
  static HWY_INLINE void StoreAny(const VF* v, uint8_t* y) { Store(v, y, false); }
};

/// Stores a step of which kNarrow rounds each pair of vectors to one vector of 16-bit lanes.
template <hn::Vec<D16Full> (*kNarrow)(VF, VF)>
HWY_INLINE void StorePairs(const VF* v, uint8_t* y, bool stream) {
  auto* out = reinterpret_cast<uint16_t*>(y);
  const size_t lanes = hn::Lanes(D16Full());
  StoreOrStream(kNarrow(v[0], v[1]), D16Full(), out, stream);
  StoreOrStream(kNarrow(v[2], v[3]), D16Full(), out + lanes, stream);
}

struct ToBfloat16 {
  using T = uint16_t;

  /// Rounds to nearest even; the result is the upper half of each lane. Adding 0x7FFF to the bits,
  /// or 0x8000 if the upper half is odd, carries into the upper half exactly if the number is to be
  /// rounded up. The upper half of infinity and of the canonical NaN does not change.
  static HWY_INLINE VU Round(VF v) {
    const auto bits = hn::BitCast(DU(), v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(DU(), 1));
    return hn::Add(hn::Add(bits, hn::Set(DU(), 0x7FFF)), odd);
  }

#if HWY_TARGET == HWY_AVX2
  /// The same rounding in 16-bit lanes. `upper` and `lower` hold the upper and lower halves of the
  /// bits, of `low` in even lanes and of `high` in odd lanes. An odd upper half is rounded up if
  /// the lower half is 0x8000 or more, an even one if it is 0x8001 or more.
  static HWY_INLINE hn::Vec<D16Full> Narrow(VF low, VF high) {
    const D16Full d;
    const auto even = hn::BitCast(DU(), low);
    const auto odd = hn::BitCast(DU(), high);
    const auto upper = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<16>(even)));
    const auto lower = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<16>(odd)), hn::BitCast(d, even));
    const auto less = hn::AndNot(upper, hn::Set(d, 1));
    const auto up = hn::ShiftRight<15>(hn::SaturatedSub(lower, less));
    alignas(16) static constexpr uint8_t kApart[] = {0, 1, 4, 5, 8,  9,  12, 13,
                                                     2, 3, 6, 7, 10, 11, 14, 15};
    const hn::ScalableTag<uint8_t> d8;
    const auto apart =
        hn::TableLookupBytes(hn::BitCast(d8, hn::Add(upper, up)), hn::LoadDup128(d8, kApart));
    return hn::Vec<D16Full>{_mm256_permute4x64_epi64(apart.raw, 0xD8)};
  }
#else
  static HWY_INLINE hn::Vec<D16Full> Narrow(VF low, VF high) {
    return hn::ConcatOdd(D16Full(), hn::BitCast(D16Full(), Round(high)),
                         hn::BitCast(D16Full(), Round(low)));
  }
#endif

#if HWY_TARGET == HWY_AVX3_DL
  /// Rounds results that are not subnormal: the instruction reads subnormal numbers as zero.
  static HWY_INLINE hn::Vec<D16Full> NarrowFiniteNormal(VF low, VF high) {
    return hn::Vec<D16Full>{reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.raw, low.raw))};
  }
#else
  static HWY_INLINE hn::Vec<D16Full> NarrowFiniteNormal(VF low, VF high) {
    return Narrow(low, high);
  }
#endif

  static HWY_INLINE void Store(const VF* v, uint8_t* y, bool stream) {
    StorePairs<NarrowFiniteNormal>(v, y, stream);
  }
  static HWY_INLINE void StoreAny(const VF* v, uint8_t* y) { StorePairs<Narrow>(v, y, false); }
};

struct ToFloat16 {
  using T = uint16_t;

#if DEQUANT_HARDWARE_FLOAT16
  /// The hardware conversion rounds to nearest even, subnormals included.
  static HWY_INLINE hn::Vec<D16> Narrow(VF v) {
    return hn::BitCast(D16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), v));
  }
#else
  static HWY_NOINLINE hn::Vec<D16> Narrow(VF v) {
    const DU du;
    const auto bits = hn::BitCast(du, v);
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFF));
    const auto sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));

    // Normal results: change the bias of the exponent, and round 13 bits away as Round() of
    // ToBfloat16 does.
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
    const auto rebias = hn::Set(du, 0xFFFu - ((127u - 15u) << 23));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, rebias), odd));

    // Results below 2^-14: the last place of the float32 sum with 0.5 is 2^-24, the smallest
    // float16 number. So the addition rounds, and the low bits of the sum are the float16 code.
    const auto half = hn::Set(DF(), 0.5f);
    const auto small = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(DF(), magnitude), half)),
                               hn::BitCast(du, half));

    // Results of 65536 and more become infinity; for 65520 to 65536 the carry above has made
    // infinity already. NaN becomes the canonical NaN.
    const auto is_small = hn::Lt(hn::BitCast(DI(), magnitude), hn::Set(DI(), 113 << 23));
    const auto is_large = hn::Gt(hn::BitCast(DI(), magnitude), hn::Set(DI(), (143 << 23) - 1));
    const auto is_nan = hn::Gt(hn::BitCast(DI(), magnitude), hn::Set(DI(), 0x7F800000));
    auto code = hn::IfThenElse(hn::RebindMask(du, is_small), small, normal);
    code = hn::IfThenElse(hn::RebindMask(du, is_large), hn::Set(du, 0x7C00), code);
    code = hn::IfThenElse(hn::RebindMask(du, is_nan), hn::Set(du, 0x7E00), code);
    return hn::DemoteTo(D16(), hn::BitCast(DI(), hn::Or(code, sign)));
  }
#endif

  static HWY_INLINE hn::Vec<D16Full> NarrowPair(VF low, VF high) {
    return hn::Combine(D16Full(), Narrow(high), Narrow(low));
  }

  static HWY_INLINE void Store(const VF* v, uint8_t* y, bool stream) {
    if (stream) return StorePairs<NarrowPair>(v, y, true);
    StoreAny(v, y);
  }
  static HWY_INLINE void StoreAny(const VF* v, uint8_t* y) {
    auto* out = reinterpret_cast<uint16_t*>(y);
    const size_t lanes = hn::Lanes(DF());
    for (size_t q = 0; q < kStepVectors; ++q) hn::StoreU(Narrow(v[q]), D16(), out + q * lanes);
  }
};

/// Replaces every NaN by the canonical NaN.
HWY_INLINE VF Canonical(VF y) {
  return hn::IfThenElse(hn::IsNaN(y), hn::BitCast(DF(), hn::Set(DU(), 0x7FC00000)), y);
}

/// Rounds any results, and stores them to y. `results` and y have room for whole steps.
template <class Out>
void Finish(const float* results, size_t count, uint8_t* y) {
  const size_t lanes = hn::Lanes(DF());
  for (size_t i = 0; i < count; i += Step()) {
    VF v[kStepVectors];
    for (size_t q = 0; q < kStepVectors; ++q)
      v[q] = Canonical(hn::LoadU(DF(), results + i + q * lanes));
    Out::StoreAny(v, y + i * sizeof(typename Out::T));
  }
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
