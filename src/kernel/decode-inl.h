// Decoders of integers of whole bytes. A decoder is a struct with kBits, the bits of a code;
// Decode(), which loads the codes of one step (four vectors); and Difference(), which computes
// fl32(x - zero) from a loaded vector. Decode() reads exactly the Step() * kBits / 8 bytes of the
// step. Decoders of packed integers: decode_packed-inl.h; of floats: decode_float-inl.h and
// decode_float6-inl.h.
#include "hwy/highway.h"
#include "kernel/targets.h"

#if defined(DEQUANT_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_DECODE_INL_H_
#undef DEQUANT_DECODE_INL_H_
#else
#define DEQUANT_DECODE_INL_H_
#endif

// The target avx512_bf16 is Highway's AVX3_DL and the extension AVX512-BF16: src/kernel/targets.cc.
// Implicitly defined constructors lack the attribute of the target, so vector classes here define
// their constructors.
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

// True where the target has instructions that convert between float16 and float32, round to nearest
// even and handle subnormals.
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

/// A step, the unit of work of a kernel, is four vectors of float32. With vectors of 64 bytes a
/// step of 16-bit results fills two cache lines, with vectors of 32 bytes one.
constexpr size_t kStepVectors = 4;
constexpr size_t kMaxLanes = hn::MaxLanes(DF());
/// Elements of a step, at most and on this processor.
constexpr size_t kMaxStep = kStepVectors * kMaxLanes;
HWY_INLINE size_t Step() { return kStepVectors * hn::Lanes(DF()); }

/// fl32(x - zero) where 32 bits hold the exact difference: for elements of 16 bits or fewer.
HWY_INLINE VF SmallDifference(VI x, VI zero) { return hn::ConvertTo(DF(), hn::Sub(x, zero)); }

/// Integers of one or two bytes, loaded as T and promoted to int32.
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

/// Loads 32-bit codes; a base without Difference().
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

/// 32-bit integers with the zero point 0: fl32(x).
template <bool kUnsigned>
struct WideLessZero : Words {
  explicit HWY_INLINE WideLessZero(const float* lut) : Words(lut) {}
  static HWY_INLINE VF Difference(VI x, VI) {
    if constexpr (kUnsigned) return hn::ConvertTo(DF(), hn::BitCast(DU(), x));
    return hn::ConvertTo(DF(), x);
  }
};

/// 32-bit integers with any zero point. The exact difference can need 33 bits. Wrapped() finds such
/// differences in a step; WideDifference() then computes the difference exactly in double and
/// rounds once, from double to float32.
template <bool kUnsigned>
struct Wide : Words {
  using LessZero = WideLessZero<kUnsigned>;  ///< the decoder for groups with the zero point 0

  explicit HWY_INLINE Wide(const float* lut) : Words(lut) {}

  HWY_INLINE void Decode(const uint8_t* p, VI* raw) const {
    Words::Decode(p, raw);
    for (size_t q = 0; q < kStepVectors; ++q) raw[q] = Signed(raw[q]);
  }
  static HWY_INLINE VF Difference(VI x, VI zero) { return SmallDifference(x, Signed(zero)); }

  /// An unsigned number less 2^31. The subtrahend 2^31 cancels in x - zero.
  static HWY_INLINE VI Signed(VI x) { return kUnsigned ? hn::Xor(x, hn::Set(DI(), INT32_MIN)) : x; }

  /// Negative in the lanes where x - zero overflows int32. With this expression the compiler loads
  /// the codes in the order of memory, which is faster while results are streamed.
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

/// int32 with a shift, for the rules of ranges: fl32(fl32(x) - fl32(shift)).
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
