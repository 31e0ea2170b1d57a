// Kernels of the documented rules, to float32:
//   y = fl32(base + (x - shift) * factor / divisor), all but the last rounding in double.
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

/// Rounds two vectors of double to one vector of float32.
HWY_INLINE VF Demoted(VD low, VD high) {
  const hn::Half<DF> dh;
  return hn::Combine(DF(), hn::DemoteTo(dh, high), hn::DemoteTo(dh, low));
}

/// The results of a step under any affine formula, with a division for each element.
HWY_NOINLINE void DivideFormula(const AffineFormula& formula, const VI* codes, VF* v) {
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

/// Parameters of a formula in double, rounded to float32 once. Without kDivides the divisor is 1.
template <class In, bool kDivides>
struct InDouble {
  /// True if the target can compute the quotient without a division: it has a fused multiply-add,
  /// or the divisor is 1.
  static constexpr bool kNoDivision = HWY_NATIVE_FMA || !kDivides;
  struct Padding {};
  const AffineFormula& formula;
  bool exact;
  VI shift;
  VD wide_shift;
  VD factor;
  VD high;
  VD low;
  VD base;

  explicit HWY_INLINE InDouble(const DoubleFormula& f)
      : formula(f.formula),
        exact(kNoDivision && f.exact),
        shift(hn::Set(DI(), formula.shift)),
        wide_shift(hn::Set(DD(), formula.shift)),
        factor(hn::Set(DD(), formula.factor)),
        high(hn::Set(DD(), f.high)),
        low(hn::Set(DD(), f.low)),
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
    if (!kNoDivision || HWY_UNLIKELY(!exact)) return DivideFormula(formula, codes, v);
    for (size_t q = 0; q < kStepVectors; ++q) {
      // Codes of 8 or 16 bits: int32 holds the difference, so it is computed before the conversion
      // to double.
      const VI code = In::kBits == 32 ? codes[q] : hn::Sub(codes[q], shift);
      v[q] = Demoted(Value(hn::LowerHalf(dh, code)), Value(hn::UpperHalf(dh, code)));
    }
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// Parameters of a formula in float32: the coefficients of a SplitFormula.
template <class In>
struct InFloat32 {
  struct Padding {};
  VI centre;
  VF step;
  VF base;
  VF small_step;
  VF small_base;

  explicit HWY_INLINE InFloat32(const SplitFormula& f)
      : centre(hn::Set(DI(), f.centre)),
        step(hn::Set(DF(), f.step)),
        base(hn::Set(DF(), f.base)),
        small_step(hn::Set(DF(), f.small_step)),
        small_base(hn::Set(DF(), f.small_base)) {}

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

template <class In, class Params, class Formula>
HWY_NOINLINE void FormulaLoop(const Formula& formula, const KernelArgs& a) {
  Loop<ToFloat32>(In(a.lut), Params(formula), a.x, a.y, a.count, prefetch_distance_of(a, a.y));
}

/// True if the SplitFormula has the results of the DoubleFormula for all 256 codes.
template <class In>
HWY_INLINE bool IsExact(const SplitFormula& split, const DoubleFormula& formula) {
  float split_results[kAllCodes.size()];
  float formula_results[kAllCodes.size()];
  KernelArgs args{kAllCodes.data(), reinterpret_cast<uint8_t*>(split_results), kAllCodes.size()};
  FormulaLoop<In, InFloat32<In>>(split, args);
  args.y = reinterpret_cast<uint8_t*>(formula_results);
  FormulaLoop<In, InDouble<In, true>>(formula, args);
  return std::memcmp(split_results, formula_results, sizeof formula_results) == 0;
}

/// The fewest elements of a kernel call for which comparing the results of all 256 codes pays.
constexpr size_t kLeastForSplit = 2048;

template <class In>
void FormulaKernel(const KernelArgs& a) {
  const DoubleFormula formula = double_formula(*a.formula);
  if constexpr (In::kBits == 8) {
    constexpr int32_t kLowest = std::is_same_v<In, Whole<int8_t>> ? INT8_MIN : 0;
    if (a.count >= kLeastForSplit) {
      const SplitFormula split = split_formula(*a.formula, kLowest);
      if (IsExact<In>(split, formula)) return FormulaLoop<In, InFloat32<In>>(split, a);
    }
  } else if (a.formula->divisor == 1) {
    return FormulaLoop<In, InDouble<In, false>>(formula, a);
  }
  FormulaLoop<In, InDouble<In, true>>(formula, a);
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
