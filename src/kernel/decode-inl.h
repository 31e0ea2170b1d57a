// One struct per way of storing codes: kBits, and Decode(), which turns the next four vectors of
// codes into what Difference() makes fl32(x - zero) of. Reads exactly 4 * Lanes(df) * kBits / 8
// bytes. Here: integers of whole bytes. Packed codes: decode_packed-inl.h; floats:
// decode_float-inl.h.
#include "hwy/highway.h"
#include "kernel/targets.h"

#if defined(DEQUANT_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_DECODE_INL_H_
#undef DEQUANT_DECODE_INL_H_
#else
#define DEQUANT_DECODE_INL_H_
#endif

// Our avx512_bf16 is what Highway calls AVX3_DL and one extension more: src/kernel/targets.cc.
// Functions that compilers write themselves are not compiled for a target, so constructors here are
// explicit.
#undef DEQUANT_TARGET
#if HWY_TARGET == HWY_AVX3_DL
#define DEQUANT_TARGET HWY_TARGET_STR ",avx512bf16"
#else
#define DEQUANT_TARGET HWY_TARGET_STR
#endif
#undef DEQUANT_BEFORE_NAMESPACE
#undef DEQUANT_ATTR
#ifdef HWY_TARGET_STR
#define DEQUANT_BEFORE_NAMESPACE() HWY_PUSH_ATTRIBUTES(DEQUANT_TARGET) static_assert(true, "")
#define DEQUANT_ATTR __attribute__((target(DEQUANT_TARGET)))
#else
#define DEQUANT_BEFORE_NAMESPACE() HWY_BEFORE_NAMESPACE()
#define DEQUANT_ATTR
#endif

// True where the processor converts between float16 and float32, rounding to nearest even and with
// subnormals.
#undef DEQUANT_HARDWARE_FLOAT16
#define DEQUANT_HARDWARE_FLOAT16 \
  ((HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64))

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::ScalableTag<int32_t>;
using DU = hn::ScalableTag<uint32_t>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;

/// Vectors that are handled together: enough to fill a cache line with 16-bit results.
constexpr size_t kStepVectors = 4;
constexpr size_t kMaxLanes = hn::MaxLanes(DF());
/// Elements of a group.
constexpr size_t kMaxStep = kStepVectors * kMaxLanes;
HWY_INLINE size_t Step() { return kStepVectors * hn::Lanes(DF()); }

/// fl32(x - zero) where the exact difference fits in 32 bits: every element of 16 bits or fewer.
HWY_INLINE VF SmallDifference(VI x, VI zero) { return hn::ConvertTo(DF(), hn::Sub(x, zero)); }

/// Codes of one, two or four bytes, promoted to int32 by their own type.
template <class T>
struct Whole {
  static constexpr int kBits = 8 * sizeof(T);
  using Raw = VI;

  explicit HWY_INLINE Whole(const float*) {}
  HWY_INLINE void Decode(const uint8_t* p, VI* raw) const {
    const hn::Rebind<T, DI> d;
    const size_t bytes = hn::Lanes(DI()) * sizeof(T);
    for (size_t q = 0; q < kStepVectors; ++q) {
      raw[q] = hn::PromoteTo(DI(), hn::LoadU(d, reinterpret_cast<const T*>(p + q * bytes)));
    }
  }
  static HWY_INLINE VF Difference(VI x, VI zero) { return SmallDifference(x, zero); }
};

/// 32-bit codes as they are.
struct Words {
  static constexpr int kBits = 32;
  using Raw = VI;

  explicit HWY_INLINE Words(const float*) {}
  HWY_INLINE void Decode(const uint8_t* p, VI* raw) const {
    const size_t bytes = hn::Lanes(DI()) * sizeof(int32_t);
    for (size_t q = 0; q < kStepVectors; ++q) {
      raw[q] = hn::LoadU(DI(), reinterpret_cast<const int32_t*>(p + q * bytes));
    }
  }
};

/// 32-bit codes less 0.
template <bool kUnsigned>
struct WideLessZero : Words {
  explicit HWY_INLINE WideLessZero(const float* lut) : Words(lut) {}
  static HWY_INLINE VF Difference(VI x, VI) {
    if constexpr (kUnsigned) return hn::ConvertTo(DF(), hn::BitCast(DU(), x));
    return hn::ConvertTo(DF(), x);
  }
};

/// Differences of 32-bit codes. Where one of a group needs 33 bits, double holds it, and its one
/// rounding is that of double to float.
template <bool kUnsigned>
struct Wide : Words {
  using LessZero = WideLessZero<kUnsigned>;  ///< serves in its place where the zero point is 0

  explicit HWY_INLINE Wide(const float* lut) : Words(lut) {}

  HWY_INLINE void Decode(const uint8_t* p, VI* raw) const {
    Words::Decode(p, raw);
    for (size_t q = 0; q < kStepVectors; ++q) raw[q] = Signed(raw[q]);
  }
  static HWY_INLINE VF Difference(VI x, VI zero) { return SmallDifference(x, Signed(zero)); }

  /// Unsigned codes and zero points are both moved by 2^31, which cancels.
  static HWY_INLINE VI Signed(VI x) { return kUnsigned ? hn::Xor(x, hn::Set(DI(), INT32_MIN)) : x; }

  /// Negative lanes are those whose difference has wrapped around. Written so, the compiler loads
  /// the codes in their order, which streaming kernels want.
  static HWY_INLINE VI Wrapped(VI x, VI zero) {
    zero = Signed(zero);
    return hn::And(hn::Xor(x, zero), hn::Xor(x, hn::Sub(x, zero)));
  }

  static HWY_NOINLINE VF WideDifference(VI x, VI zero) {
    zero = Signed(zero);
    const hn::Half<DI> dhi;
    const hn::Half<DF> dhf;
    const hn::Rebind<double, hn::Half<DI>> dd;
    const auto low = hn::Sub(hn::PromoteTo(dd, hn::LowerHalf(dhi, x)),
                             hn::PromoteTo(dd, hn::LowerHalf(dhi, zero)));
    const auto high = hn::Sub(hn::PromoteTo(dd, hn::UpperHalf(dhi, x)),
                              hn::PromoteTo(dd, hn::UpperHalf(dhi, zero)));
    return hn::Combine(DF(), hn::DemoteTo(dhf, high), hn::DemoteTo(dhf, low));
  }
};

/// int32 codes and shift each rounded to float32 before they are subtracted.
struct Rounded : Words {
  explicit HWY_INLINE Rounded(const float* lut) : Words(lut) {}
  static HWY_INLINE VF Difference(VI x, VI shift) {
    return hn::Sub(hn::ConvertTo(DF(), x), hn::ConvertTo(DF(), shift));
  }
};

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
