// The loop of the kernels written with Highway, and the kernels PerGroupKernel and
// PerElementKernel. One loop body serves whole steps and the remainder, with normal and with
// non-temporal stores.
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernel/decode-inl.h"
#include "kernel/decode_float-inl.h"
#include "kernel/decode_float6-inl.h"
#include "kernel/decode_packed-inl.h"
#include "kernel/float8_results-inl.h"
#include "kernel/lookup-inl.h"
#include "kernel/narrow-inl.h"
#include "kernel/params-inl.h"
#include "kernel/special_values.h"
#include "kernel/targets.h"

#if defined(DEQUANT_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_KERNEL_INL_H_
#undef DEQUANT_KERNEL_INL_H_
#else
#define DEQUANT_KERNEL_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// True if the parameters have Results(), which looks up rounded 16-bit results; false if they have
/// Values(), which computes float32 results.
template <class In, class Params>
constexpr bool kHasResults = requires(const Params& params, const In& in, const uint8_t* x,
                                      V16* results) {
  params.Results(in, x, results);
};

/// Dequantizes one step.
template <class Out, class In, class Params>
HWY_INLINE void DequantizeStep(const In& in, const Params& params, const uint8_t* x, uint8_t* y,
                               bool stream) {
  if constexpr (kHasResults<In, Params>) {
    V16 results[kResults];
    params.Results(in, x, results);
    StoreResults(results, y, stream);
  } else {
    VF v[kStepVectors];
    params.Values(in, x, v);
    Out::Store(v, y, stream);
  }
}

/// Steps in one iteration of the loop. Two if the parameters need no padding and a vector has 32
/// bytes or fewer: the work of one step is then so little that the loop counter matters.
template <class Params>
constexpr size_t kUnroll = std::is_empty_v<typename Params::Padding>&& HWY_MAX_BYTES <= 32 ? 2 : 1;

/// True if stores limit the speed of a loop that does not stream: a vector fills a cache line, and
/// the results are float32 or looked up.
template <class Out, class In, class Params>
constexpr bool kStoresAreSlowest = HWY_MAX_BYTES == kCacheLine &&
                                   (sizeof(typename Out::T) == sizeof(float) ||
                                    kHasResults<In, Params>);

/// Dequantizes `count` elements, at least one. The remainder after the last whole iteration is
/// copied to zero-padded buffers and dequantized there by the same code, so that no byte outside
/// the span is read or written. `prefetch_distance` is the result of prefetch_distance_of().
template <class Out, class In, class Params>
HWY_INLINE void Loop(const In& in, Params params, const uint8_t* x, uint8_t* y, size_t count,
                     size_t prefetch_distance) {
  bool stream = prefetch_distance != 0;
  alignas(64) uint8_t x_padding[kUnroll<Params> * kMaxStep * In::kBits / 8];
  alignas(64) uint8_t y_padding[kUnroll<Params> * kMaxStep * sizeof(typename Out::T)];
  typename Params::Padding padding;
  const size_t x_step = Step() * In::kBits / 8;
  const size_t y_step = Step() * sizeof(typename Out::T);
  const size_t remainder = count % (kUnroll<Params> * Step());
  uint8_t* remainder_of_y = nullptr;
  for (size_t iterations = count / (kUnroll<Params> * Step());; iterations = 0) {
    if (HWY_UNLIKELY(iterations == 0)) {
      copy_padded(x, (remainder * In::kBits + 7) / 8, x_padding, sizeof x_padding);
      params.PadLast(remainder, padding);
      remainder_of_y = y;
      x = x_padding;
      y = y_padding;
      stream = false;
      prefetch_distance = 0;
      iterations = 1;
    }
    do {
      if (kStoresAreSlowest<Out, In, Params> && !stream) {
        for (size_t i = 0; i < kUnroll<Params> * y_step; i += kCacheLine)
          hwy::Prefetch(y + kPrefetchDistanceY + i);
      } else {
        for (size_t i = 0; i < kUnroll<Params> * x_step; i += kCacheLine)
          hwy::Prefetch(x + prefetch_distance + i);
      }
      for (size_t step = 0; step < kUnroll<Params>; ++step) {
        DequantizeStep<Out>(in, params, x, y, stream);
        x += x_step;
        y += y_step;
        params.Advance();
      }
    } while (--iterations != 0);
    if (remainder == 0) return;
    if (remainder_of_y != nullptr) {
      return copy_bytes(y_padding, remainder * sizeof(typename Out::T), remainder_of_y);
    }
  }
}

/// One scale s, zero point z and, if kAdds, offset o for each group:
///   y = narrow(fl32(difference * s)), or, if kAdds, narrow(fl32(fl32(difference * s) + o)),
/// where narrow() rounds to the output, and difference is In::Difference(): fl32(x - z), or
/// fl32(fl32(x) - fl32(z)) of the decoder Rounded.
template <class In, class Out, bool kAdds>
void PerGroupKernel(const KernelArgs& a) {
  if (HWY_UNLIKELY(!a.finite_normal)) {
    return special_values_kernel(a, ScaleLayout::per_group, PerGroupKernel<In, ToFloat32, kAdds>,
                                 {In::kBits, sizeof(typename Out::T), Finish<Out>});
  }
  const In in(a.lut);
  if constexpr (!kAdds) {
    const size_t lanes = hn::Lanes(DF());
    const size_t vectors = a.count > a.group ? vectors_of_short_group(a.group, lanes) : 0;
    if (vectors == 1) {
      const Blocked<In, Out, 1> params(a.scale, a.zero);
      return Loop<Out>(in, params, a.x, a.y, a.count, prefetch_distance_of(a, a.y));
    }
    if (vectors == 2) {
      const Blocked<In, Out, 2> params(a.scale, a.zero);
      return Loop<Out>(in, params, a.x, a.y, a.count, prefetch_distance_of(a, a.y));
    }
#if HWY_MAX_BYTES == 32
    // Groups of 32 elements have their own loop, as 32 is the most common block size.
    if (a.group == 4 * lanes && a.count > 4 * lanes) {
      const Blocked<In, Out, 4> params(a.scale, a.zero);
      return Loop<Out>(in, params, a.x, a.y, a.count, prefetch_distance_of(a, a.y));
    }
#endif
  }
  size_t group = 0;
  for (size_t i = 0; i < a.count; i += a.group, ++group) {
    const uint8_t* x = a.x + i * In::kBits / 8;
    uint8_t* y = a.y + i * sizeof(typename Out::T);
    const size_t count = HWY_MIN(a.group, a.count - i);
    if constexpr (LongGroup<In, Out>::kExists && !kAdds) {
      if (count >= LongGroup<In, Out>::kLong && LongGroup<In, Out>::Fits(a.lut, a.scale[group])) {
        const LongGroup<In, Out> params(a.lut, a.scale[group]);
        Loop<Out>(in, params, x, y, count, prefetch_distance_of(a, y));
        continue;
      }
    }
    const float offset = kAdds ? a.offset[group] : 0.0F;
    if constexpr (requires { typename In::LessZero; }) {
      if (a.zero[group] == 0) {
        const typename In::LessZero less_zero(a.lut);
        const Uniform<typename In::LessZero, Out, kAdds> params(less_zero, a.scale[group], 0,
                                                                offset);
        Loop<Out>(less_zero, params, x, y, count, prefetch_distance_of(a, y));
        continue;
      }
    }
    const Uniform<In, Out, kAdds> params(in, a.scale[group], a.zero[group], offset);
    Loop<Out>(in, params, x, y, count, prefetch_distance_of(a, y));
  }
}

/// One scale s and zero point z for each element: y = narrow(fl32(fl32(x - z) * s)).
template <class In, class Out>
void PerElementKernel(const KernelArgs& a) {
  if (HWY_UNLIKELY(!a.finite_normal)) {
    return special_values_kernel(a, ScaleLayout::per_element, PerElementKernel<In, ToFloat32>,
                                 {In::kBits, sizeof(typename Out::T), Finish<Out>});
  }
  Loop<Out>(In(a.lut), PerElement<In>{a.scale, a.zero}, a.x, a.y, a.count,
            prefetch_distance_of(a, a.y));
}

/// The six kernels of an element.
template <class In>
void FillElement(Table& table, Element x) {
  table.at(x, Element::float32, ScaleLayout::per_group) = PerGroupKernel<In, ToFloat32, false>;
  table.at(x, Element::float32, ScaleLayout::per_element) = PerElementKernel<In, ToFloat32>;
  table.at(x, Element::float16, ScaleLayout::per_group) = PerGroupKernel<In, ToFloat16, false>;
  table.at(x, Element::float16, ScaleLayout::per_element) = PerElementKernel<In, ToFloat16>;
  table.at(x, Element::bfloat16, ScaleLayout::per_group) = PerGroupKernel<In, ToBfloat16, false>;
  table.at(x, Element::bfloat16, ScaleLayout::per_element) = PerElementKernel<In, ToBfloat16>;
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
