// The only loop. Row<In, Out, leaf> is a table entry: whole vectors, their head and tail, and both
// kinds of stores come from one body.
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "kernel/decode-inl.h"
#include "kernel/narrow-inl.h"
#include "kernel/targets.h"

#if defined(DEQUANT_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_ROW_INL_H_
#undef DEQUANT_ROW_INL_H_
#else
#define DEQUANT_ROW_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Rule::subtract_then_scale on a difference: one multiplication, NaN made canonical.
HWY_INLINE VF Scale(VF difference, VF scale) {
  const DF df;
  const auto y = hn::Mul(difference, scale);
  return hn::IfThenElse(hn::IsNaN(y), hn::BitCast(df, hn::Set(DU(), 0x7FC00000)), y);
}

/// One scale and zero point for all elements.
struct Uniform {
  VF scale;
  VI zero;
  HWY_INLINE VF ScaleAt(size_t) const { return scale; }
  HWY_INLINE VI ZeroAt(size_t) const { return zero; }
};

/// One scale and zero point for each element.
struct Varying {
  const float* scale;
  const int32_t* zero;
  HWY_INLINE VF ScaleAt(size_t i) const { return hn::LoadU(DF(), scale + i); }
  HWY_INLINE VI ZeroAt(size_t i) const { return hn::LoadU(DI(), zero + i); }
};

template <class In, class Out>
struct Stretch {
  using D = typename Out::D;
  using T = hn::TFromD<D>;
  static constexpr size_t kMaxLanes = hn::MaxLanes(DF());

  /// Fewer elements than a vector: through padded copies, so that nothing beyond them is touched.
  template <class Side>
  static HWY_INLINE void Part(const uint8_t* x, uint8_t* y, size_t count, const Side& side,
                              size_t i, const float* lut) {
    alignas(64) uint8_t in[kMaxLanes * 4] = {};
    alignas(64) T out[kMaxLanes];
    std::memcpy(in, x + i * In::kBits / 8, (count * In::kBits + 7) / 8);
    VF scale;
    VI zero;
    if constexpr (std::is_same_v<Side, Varying>) {
      alignas(64) float scales[kMaxLanes] = {};
      alignas(64) int32_t zeros[kMaxLanes] = {};
      std::memcpy(scales, side.scale + i, count * sizeof(float));
      std::memcpy(zeros, side.zero + i, count * sizeof(int32_t));
      scale = hn::Load(DF(), scales);
      zero = hn::Load(DI(), zeros);
    } else {
      scale = side.scale;
      zero = side.zero;
    }
    hn::Store(Out::Narrow(Scale(In::Load(in, zero, lut), scale)), D(), out);
    std::memcpy(y + i * sizeof(T), out, count * sizeof(T));
  }

  template <class Side>
  static HWY_INLINE hn::Vec<D> Vector(const uint8_t* x, const Side& side, size_t i,
                                      const float* lut) {
    return Out::Narrow(
        Scale(In::Load(x + i * In::kBits / 8, side.ZeroAt(i), lut), side.ScaleAt(i)));
  }

  /// Elements before y reaches a vector boundary, if whole bytes of x lie before them; SIZE_MAX if
  /// streaming is not worth it. A line of the cache that is streamed only in part costs more than a
  /// hundred plain ones, so short stretches stream whole lines or not at all.
  static HWY_INLINE size_t Head(const uint8_t* y, size_t count, size_t lanes) {
    constexpr size_t kLine = 64;
    constexpr size_t kLong = 4096;
    const auto at = reinterpret_cast<uintptr_t>(y);
    if (count * sizeof(T) < kLong && (at % kLine != 0 || count * sizeof(T) % kLine != 0))
      return SIZE_MAX;
    const size_t vector = lanes * sizeof(T);
    const size_t bytes = (vector - at % vector) % vector;
    const size_t head = bytes / sizeof(T);
    const bool reachable = bytes % sizeof(T) == 0 && head * In::kBits % 8 == 0;
    return reachable ? head : SIZE_MAX;
  }

  template <class Side>
  static HWY_INLINE void Run(const uint8_t* x, uint8_t* y, size_t count, const Side& side,
                             const float* lut, bool stream) {
    const size_t lanes = hn::Lanes(DF());
    size_t i = 0;
    if constexpr (kMaxLanes * sizeof(T) >= 16) {  // streaming writes at least 16 bytes
      const size_t head = stream ? Head(y, count, lanes) : SIZE_MAX;
      if (head < count) {
        if (head != 0) Part(x, y, head, side, 0, lut);
        for (i = head; i + lanes <= count; i += lanes) {
          hn::Stream(Vector(x, side, i, lut), D(), reinterpret_cast<T*>(y + i * sizeof(T)));
        }
      }
    }
    for (; i + lanes <= count; i += lanes) {
      hn::StoreU(Vector(x, side, i, lut), D(), reinterpret_cast<T*>(y + i * sizeof(T)));
    }
    if (i < count) Part(x, y, count - i, side, i, lut);
  }
};

template <class In, class Out, Leaf kLeaf>
void Row(const RowArgs& a) {
  if constexpr (kLeaf == Leaf::varying) {
    Stretch<In, Out>::Run(a.x, a.y, a.count, Varying{a.scale, a.zero}, a.lut, a.stream);
  } else {
    size_t run = 0;
    for (size_t i = 0; i < a.count; i += a.run, ++run) {
      const Uniform side{hn::Set(DF(), a.scale[run]), hn::Set(DI(), a.zero[run])};
      Stretch<In, Out>::Run(a.x + i * In::kBits / 8, a.y + i * sizeof(hn::TFromD<typename Out::D>),
                            HWY_MIN(a.run, a.count - i), side, a.lut, a.stream);
    }
  }
}

/// The six rows of an element.
template <class In>
void FillElement(Table& table, Element x) {
  table.at(x, Element::float32, Leaf::runs) = Row<In, ToFloat32, Leaf::runs>;
  table.at(x, Element::float32, Leaf::varying) = Row<In, ToFloat32, Leaf::varying>;
  table.at(x, Element::float16, Leaf::runs) = Row<In, ToFloat16, Leaf::runs>;
  table.at(x, Element::float16, Leaf::varying) = Row<In, ToFloat16, Leaf::varying>;
  table.at(x, Element::bfloat16, Leaf::runs) = Row<In, ToBfloat16, Leaf::runs>;
  table.at(x, Element::bfloat16, Leaf::varying) = Row<In, ToBfloat16, Leaf::varying>;
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
