// What elements are computed with. A side knows scales, zero points and offsets of the four vectors that
// come next: Values() turns their codes into float32 results, Advance() goes on to the next four, and
// Part() makes it one whose memory holds less than four vectors.
#include "hwy/highway.h"
#include "kernel/careful.h"
#include "kernel/decode_packed-inl.h"
#include "kernel/narrow-inl.h"

#if defined(DEQUANT_SIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_SIDE_INL_H_
#undef DEQUANT_SIDE_INL_H_
#else
#define DEQUANT_SIDE_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// True for codes whose results are looked up in a table made for each scale.
template <class In>
constexpr bool UsesTable() {
  if constexpr (requires { In::kTable; }) return In::kTable;
  return false;
}

/// One scale, zero point and, if kAdds, offset: results of any vector of codes.
template <class In, bool kAdds>
struct One {
  VF scale;
  VI zero;
  VF offset;

  HWY_INLINE One(const In&, float s, int32_t z, float o)
      : scale(hn::Set(DF(), s)), zero(hn::Set(DI(), z)), offset(hn::Set(DF(), o)) {}
  HWY_INLINE VF Value(typename In::Raw raw) const {
    const auto product = hn::Mul(In::Difference(raw, zero), scale);
    if constexpr (!kAdds) return product;
    return hn::Add(product, offset);
  }
};

template <class In, bool kAdds>
requires(UsesTable<In>()) struct One<In, kAdds> {
  VF table;

  HWY_INLINE One(const In& in, float s, int32_t z, float)
      : table(hn::Mul(in.Differences(hn::Set(DI(), z)), hn::Set(DF(), s))) {}
  HWY_INLINE VF Value(VU index) const {
#if DEQUANT_LANE_SHIFTS
    return Lookup(table, index);
#else
    return table;
#endif
  }
};

/// What In yields for One<In>.
template <class In>
struct Codes {
  typename In::Raw raw[kGroup];
  HWY_INLINE Codes(const In& in, const uint8_t* p) { in.Decode(p, raw); }
};
template <class In>
requires(UsesTable<In>()) struct Codes<In> {
  VU raw[kGroup];
  HWY_INLINE Codes(const In& in, const uint8_t* p) { in.Index(p, raw); }
};

/// The same for all elements.
template <class In, bool kAdds>
struct Uniform {
  struct Padding {};
  One<In, kAdds> one;

  HWY_INLINE Uniform(const In& in, float s, int32_t z, float o) : one(in, s, z, o) {}
  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    const Codes<In> codes(in, p);
    for (size_t q = 0; q < kGroup; ++q) v[q] = one.Value(codes.raw[q]);
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void Part(size_t, Padding&) {}
};

/// The same for every kVectors vectors, of which a group has more.
template <class In, size_t kVectors>
struct Blocked {
  static constexpr size_t kScales = kGroup / kVectors;
  struct Padding {
    float scale[kScales];
    int32_t zero[kScales];
  };
  const float* scale;
  const int32_t* zero;

  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    const Codes<In> codes(in, p);
    for (size_t k = 0; k < kScales; ++k) {
      const One<In, false> one(in, scale[k], zero[k], 0);
      for (size_t q = k * kVectors; q < (k + 1) * kVectors; ++q) v[q] = one.Value(codes.raw[q]);
    }
  }
  HWY_INLINE void Advance() {
    scale += kScales;
    zero += kScales;
  }
  HWY_INLINE void Part(size_t count, Padding& padding) {
    const size_t last = (count - 1) / (kVectors * hn::Lanes(DF()));
    for (size_t k = 0; k < kScales; ++k) {
      padding.scale[k] = scale[HWY_MIN(k, last)];
      padding.zero[k] = zero[HWY_MIN(k, last)];
    }
    scale = padding.scale;
    zero = padding.zero;
  }
};

/// One of each for each element.
template <class In, bool kAdds>
struct Varying {
  struct Padding {
    alignas(64) float scale[kMaxStep];
    alignas(64) int32_t zero[kMaxStep];
    alignas(64) float offset[kAdds ? kMaxStep : 1];
  };
  const float* scale;
  const int32_t* zero;
  const float* offset;

  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    typename In::Raw raw[kGroup];
    in.Decode(p, raw);
    const size_t lanes = hn::Lanes(DF());
    for (size_t q = 0; q < kGroup; ++q) {
      const auto difference = In::Difference(raw[q], hn::LoadU(DI(), zero + q * lanes));
      v[q] = hn::Mul(difference, hn::LoadU(DF(), scale + q * lanes));
      if constexpr (kAdds) v[q] = hn::Add(v[q], hn::LoadU(DF(), offset + q * lanes));
    }
  }
  HWY_INLINE void Advance() {
    scale += Step();
    zero += Step();
    if constexpr (kAdds) offset += Step();
  }
  HWY_INLINE void Part(size_t count, Padding& padding) {
    copy_padded(scale, count * 4, padding.scale, sizeof padding.scale);
    copy_padded(zero, count * 4, padding.zero, sizeof padding.zero);
    if constexpr (kAdds) copy_padded(offset, count * 4, padding.offset, sizeof padding.offset);
    *this = {padding.scale, padding.zero, padding.offset};
  }
};

/// A line in double, rounded to float32 once.
template <class In>
struct Straight {
  struct Padding {};
  using D = hn::Rebind<double, hn::Half<DI>>;
  hn::Vec<D> shift;
  hn::Vec<D> factor;
  hn::Vec<D> divisor;
  hn::Vec<D> base;

  explicit HWY_INLINE Straight(const Line& line)
      : shift(hn::Set(D(), line.shift)),
        factor(hn::Set(D(), line.factor)),
        divisor(hn::Set(D(), line.divisor)),
        base(hn::Set(D(), line.base)) {}

  HWY_INLINE hn::Vec<hn::Half<DF>> Half(hn::Vec<hn::Half<DI>> codes) const {
    const auto product = hn::Mul(hn::Sub(hn::PromoteTo(D(), codes), shift), factor);
    return hn::DemoteTo(hn::Half<DF>(), hn::Add(base, hn::Div(product, divisor)));
  }
  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    const hn::Half<DI> dh;
    VI raw[kGroup];
    in.Decode(p, raw);
    for (size_t q = 0; q < kGroup; ++q) {
      v[q] = Canonical(
          hn::Combine(DF(), Half(hn::UpperHalf(dh, raw[q])), Half(hn::LowerHalf(dh, raw[q]))));
    }
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void Part(size_t, Padding&) {}
};

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
