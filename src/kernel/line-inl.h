// Rows of the documented rules: a straight line in double.
#include "hwy/highway.h"
#include "kernel/row-inl.h"

#if defined(DEQUANT_LINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_LINE_INL_H_
#undef DEQUANT_LINE_INL_H_
#else
#define DEQUANT_LINE_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

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

template <class In>
void LineRow(const RowArgs& a) {
  Loop<ToFloat32>(In(a.lut), Straight<In>(*a.line), a.x, a.y, a.count, CanStream(a, a.y));
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
