// The float32 values of vectors of float16 and bfloat16 codes.
#include "hwy/highway.h"
#include "kernel/decode-inl.h"
#include "kernel/narrow-inl.h"

#if defined(DEQUANT_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_WIDEN_INL_H_
#undef DEQUANT_WIDEN_INL_H_
#else
#define DEQUANT_WIDEN_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

HWY_INLINE VF WidenFloat16(hn::Vec<D16> codes) {
#if DEQUANT_HARDWARE_FLOAT16
  return hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), codes));
#else
  // Exponent and mantissa are shifted to their place in float32. An exact multiplication by 2^112
  // corrects the bias of the exponent, also for subnormal numbers. Infinity and NaN get the highest
  // exponent of float32.
  const auto code = hn::PromoteTo(DU(), codes);
  const auto magnitude = hn::ShiftLeft<13>(hn::And(code, hn::Set(DU(), 0x7FFF)));
  const auto value = hn::Mul(hn::BitCast(DF(), magnitude), hn::Set(DF(), 0x1p112F));
  const auto top = hn::Set(DU(), 0x7C00);
  const auto special = hn::VecFromMask(DU(), hn::Eq(hn::And(code, top), top));
  const auto sign = hn::ShiftLeft<16>(hn::And(code, hn::Set(DU(), 0x8000)));
  const auto rest = hn::Or(hn::And(special, hn::Set(DU(), 0x7F800000)), sign);
  return hn::Or(value, hn::BitCast(DF(), rest));
#endif
}

HWY_INLINE VF WidenBfloat16(hn::Vec<D16> codes) {
  return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), codes)));
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
