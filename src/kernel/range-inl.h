// Kernels of the rules of ranges with a scale and an offset for each element, and one shift for all
// elements:
//   y = narrow(fl32(fl32(difference * scale) + offset)), where difference is In::Difference():
//   fl32(x - shift), or fl32(fl32(x) - fl32(shift)) of the decoder Rounded.
#include "hwy/highway.h"
#include "kernel/kernel-inl.h"

#if defined(DEQUANT_RANGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_RANGE_INL_H_
#undef DEQUANT_RANGE_INL_H_
#else
#define DEQUANT_RANGE_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Parameters: a scale and an offset for each element, one shift for all elements.
template <class In>
struct Shifted {
  struct Padding {
    alignas(64) float scale[kMaxStep];
    alignas(64) float offset[kMaxStep];
  };
  const float* scale;
  const float* offset;
  VI shift;

  explicit HWY_INLINE Shifted(const KernelArgs& a)
      : scale(a.scale), offset(a.offset), shift(hn::Set(DI(), *a.zero)) {}

  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    VI codes[kStepVectors];
    in.Decode(p, codes);
    const size_t lanes = hn::Lanes(DF());
    for (size_t q = 0; q < kStepVectors; ++q) {
      const auto product =
          hn::Mul(In::Difference(codes[q], shift), hn::LoadU(DF(), scale + q * lanes));
      v[q] = hn::Add(product, hn::LoadU(DF(), offset + q * lanes));
    }
  }
  HWY_INLINE void Advance() {
    scale += Step();
    offset += Step();
  }
  HWY_INLINE void PadLast(size_t count, Padding& padding) {
    copy_padded(scale, count * 4, padding.scale, sizeof padding.scale);
    copy_padded(offset, count * 4, padding.offset, sizeof padding.offset);
    scale = padding.scale;
    offset = padding.offset;
  }
};

template <class In, class Out>
void ShiftedKernel(const KernelArgs& a) {
  if (HWY_UNLIKELY(!a.finite_normal)) {
    return special_values_kernel(a, ScaleLayout::per_element, ShiftedKernel<In, ToFloat32>,
                                 {In::kBits, sizeof(typename Out::T), Finish<Out>});
  }
  Loop<Out>(In(a.lut), Shifted<In>(a), a.x, a.y, a.count, prefetch_distance_of(a, a.y));
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
