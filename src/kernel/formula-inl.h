// Kernels of the documented rules: an affine formula in double.
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernel/formula_ways.h"
#include "kernel/kernel-inl.h"

#if defined(DEQUANT_FORMULA_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_FORMULA_INL_H_
#undef DEQUANT_FORMULA_INL_H_
#else
#define DEQUANT_FORMULA_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

using DD = hn::Rebind<double, hn::Half<DI>>;
using VD = hn::Vec<DD>;

/// Two halves of results as one vector.
HWY_INLINE VF Demoted(VD low, VD high) {
  const hn::Half<DF> dh;
  return hn::Combine(DF(), hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}

/// Any affine formula, for four vectors of codes.
HWY_NOINLINE void AnyFormula(const AffineFormula& formula, const VI* codes, VF* v) {
  const auto at = [&](hn::Vec<hn::Half<DI>> half) DEQUANT_ATTR {
    const auto difference = hn::Sub(hn::PromoteTo(DD(), half), hn::Set(DD(), formula.shift));
    const auto product = hn::Mul(difference, hn::Set(DD(), formula.factor));
    return hn::Add(hn::Set(DD(), formula.base), hn::Div(product, hn::Set(DD(), formula.divisor)));
  };
  const hn::Half<DI> dh;
  for (size_t q = 0; q < kStepVectors; ++q) {
    v[q] = Canonical(Demoted(at(hn::LowerHalf(dh, codes[q])), at(hn::UpperHalf(dh, codes[q]))));
  }
}

/// A line in double, rounded to float32 once. Without kDivides the divisor is 1.
template <class In, bool kDivides>
struct Straight {
  /// Where the target can do without dividing.
  static constexpr bool kShort = HWY_NATIVE_FMA || !kDivides;
  struct Padding {};
  const AffineFormula& formula;
  bool exact;
  VI shift;
  VD wide_shift;
  VD factor;
  VD high;
  VD low;
  VD base;

  explicit HWY_INLINE Straight(const DoubleFormula& l)
      : formula(l.formula),
        exact(kShort && l.exact),
        shift(hn::Set(DI(), formula.shift)),
        wide_shift(hn::Set(DD(), formula.shift)),
        factor(hn::Set(DD(), formula.factor)),
        high(hn::Set(DD(), l.high)),
        low(hn::Set(DD(), l.low)),
        base(hn::Set(DD(), formula.base)) {}

  HWY_INLINE VD Value(hn::Vec<hn::Half<DI>> half) const {
    auto difference = hn::PromoteTo(DD(), half);
    if constexpr (In::kBits == 32) difference = hn::Sub(difference, wide_shift);
    auto product = hn::Mul(difference, factor);
    if constexpr (kDivides) product = hn::MulAdd(product, high, hn::Mul(product, low));
    return hn::Add(base, product);
  }
  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    const hn::Half<DI> dh;
    VI codes[kStepVectors];
    in.Decode(p, codes);
    if (!kShort || HWY_UNLIKELY(!exact)) return AnyFormula(formula, codes, v);
    for (size_t q = 0; q < kStepVectors; ++q) {
      // Where 32 bits hold the difference, it is made before the codes become twice as wide.
      const VI code = In::kBits == 32 ? codes[q] : hn::Sub(codes[q], shift);
      v[q] = Demoted(Value(hn::LowerHalf(dh, code)), Value(hn::UpperHalf(dh, code)));
    }
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// A SplitFormula.
template <class In>
struct Parted {
  struct Padding {};
  VI centre;
  VF step;
  VF base;
  VF small_step;
  VF small_base;

  explicit HWY_INLINE Parted(const SplitFormula& l)
      : centre(hn::Set(DI(), l.centre)),
        step(hn::Set(DF(), l.step)),
        base(hn::Set(DF(), l.base)),
        small_step(hn::Set(DF(), l.small_step)),
        small_base(hn::Set(DF(), l.small_base)) {}

  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    VI codes[kStepVectors];
    in.Decode(p, codes);
    for (size_t q = 0; q < kStepVectors; ++q) {
      const auto d = SmallDifference(codes[q], centre);
      v[q] = hn::Add(hn::MulAdd(d, step, base), hn::MulAdd(d, small_step, small_base));
    }
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

template <class In, class Params, class How>
HWY_NOINLINE void FormulaLoop(const How& formula, const KernelArgs& a) {
  Loop<ToFloat32>(In(a.lut), Params(formula), a.x, a.y, a.count, prefetch_distance_of(a, a.y));
}

/// True if the split formula gives all 256 codes the results of the formula.
template <class In>
HWY_INLINE bool IsRight(const SplitFormula& split, const DoubleFormula& formula) {
  float of_split[kAllCodes.size()];
  float of_formula[kAllCodes.size()];
  KernelArgs args{kAllCodes.data(), reinterpret_cast<uint8_t*>(of_split), kAllCodes.size()};
  FormulaLoop<In, Parted<In>>(split, args);
  args.y = reinterpret_cast<uint8_t*>(of_formula);
  FormulaLoop<In, Straight<In, true>>(formula, args);
  return std::memcmp(of_split, of_formula, sizeof of_formula) == 0;
}

/// Kernel calls of so many elements are worth a look at all codes.
constexpr size_t kWorthALook = 2048;

template <class In>
void FormulaKernel(const KernelArgs& a) {
  const DoubleFormula formula = double_formula(*a.formula);
  if constexpr (In::kBits == 8) {
    constexpr int32_t kLowest = std::is_same_v<In, Whole<int8_t>> ? INT8_MIN : 0;
    if (a.count >= kWorthALook) {
      const SplitFormula split = split_formula(*a.formula, kLowest);
      if (IsRight<In>(split, formula)) return FormulaLoop<In, Parted<In>>(split, a);
    }
  } else if (a.formula->divisor == 1) {
    return FormulaLoop<In, Straight<In, false>>(formula, a);
  }
  FormulaLoop<In, Straight<In, true>>(formula, a);
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
