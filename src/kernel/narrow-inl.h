// One struct per output type: Narrow() rounds float32 results, in which every NaN is the canonical
// one, to nearest even and yields the vector to store.
#include "hwy/highway.h"
#include "kernel/decode-inl.h"

#if defined(DEQUANT_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_NARROW_INL_H_
#undef DEQUANT_NARROW_INL_H_
#else
#define DEQUANT_NARROW_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

using DU = hn::ScalableTag<uint32_t>;
using D16 = hn::Rebind<uint16_t, DF>;

/// Lanes that already fit in 16 bits.
HWY_INLINE hn::Vec<D16> Lower16(hn::Vec<DU> bits) {
  return hn::DemoteTo(D16(), hn::BitCast(DI(), bits));
}

struct ToFloat32 {
  using D = DF;
  static HWY_INLINE VF Narrow(VF v) { return v; }
};

struct ToBfloat16 {
  using D = D16;
  static HWY_INLINE hn::Vec<D16> Narrow(VF v) {
    // Adding 0x7FFF, plus one if the kept part is odd, carries into it exactly when rounding to
    // nearest even goes up. Infinity and the canonical NaN stay as they are.
    const DU du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    return Lower16(hn::ShiftRight<16>(hn::Add(hn::Add(bits, hn::Set(du, 0x7FFF)), odd)));
  }
};

struct ToFloat16 {
  using D = D16;
  static HWY_INLINE hn::Vec<D16> Narrow(VF v) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
    // The hardware conversion rounds to nearest even, subnormals included.
    return hn::BitCast(D16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), v));
#else
    const DU du;
    const auto bits = hn::BitCast(du, v);
    const auto magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFF));
    const auto sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));

    // Normal: rebias the exponent and round 13 bits away as for bfloat16.
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
    const auto rebias = hn::Set(du, 0xFFFu - ((127u - 15u) << 23));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Add(magnitude, rebias), odd));

    // Below 2^-14: the sum with 0.5 has a float32 step of 2^-24, float16's smallest, so the float
    // addition does the rounding and leaves the code in the low bits.
    const auto half = hn::Set(DF(), 0.5f);
    const auto small = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(DF(), magnitude), half)),
                               hn::BitCast(du, half));

    // From 65536 on, infinity; 65520 to 65536 got there by the carry. NaN keeps its quiet bit.
    const auto is_small = hn::Lt(hn::BitCast(DI(), magnitude), hn::Set(DI(), 113 << 23));
    const auto is_large = hn::Gt(hn::BitCast(DI(), magnitude), hn::Set(DI(), (143 << 23) - 1));
    const auto is_nan = hn::Gt(hn::BitCast(DI(), magnitude), hn::Set(DI(), 0x7F800000));
    auto code = hn::IfThenElse(hn::RebindMask(du, is_small), small, normal);
    code = hn::IfThenElse(hn::RebindMask(du, is_large), hn::Set(du, 0x7C00), code);
    code = hn::IfThenElse(hn::RebindMask(du, is_nan), hn::Set(du, 0x7E00), code);
    return Lower16(hn::Or(code, sign));
#endif
  }
};

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
