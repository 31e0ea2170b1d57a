// What surrounds products, for every target: float zero points, a factor, roundings, and zero
// points that are added after the product.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_results.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/narrow-inl.h"
#include "kernel/special_values.h"
#include "kernel/widen-inl.h"

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

/// The number of a type nearest to each value, as float32. No value is a NaN but the canonical one.
template <class Out>
HWY_INLINE VF RoundTo(VF v) {
  if constexpr (std::is_same_v<Out, ToFloat16>) {
    return WidenFloat16(ToFloat16::Narrow(v));
  } else if constexpr (std::is_same_v<Out, ToBfloat16>) {
    return hn::BitCast(DF(), hn::And(ToBfloat16::Round(v), hn::Set(DU(), 0xFFFF0000)));
  } else {
    return v;
  }
}

/// Narrows and stores a step; results may be subnormal.
template <class Out>
HWY_INLINE void StoreStep(const VF* v, uint8_t* y, bool stream) {
  if constexpr (std::is_same_v<Out, ToFloat16>) {
    StorePairs<ToFloat16::NarrowPair>(v, y, stream);
  } else if constexpr (std::is_same_v<Out, ToBfloat16>) {
    StorePairs<ToBfloat16::Narrow>(v, y, stream);
  } else {
    ToFloat32::Store(v, y, stream);
  }
}

/// What a span of elements has; `short_groups`: one for each kShortResultGroup elements.
enum class Zeros { none, one, each, short_groups };

/// The elements that share an entry.
template <Zeros kZeros>
constexpr size_t kSharing = kZeros == Zeros::short_groups ? kShortResultGroup : 1;

/// The zero points of a vector.
template <Zeros kZeros>
HWY_INLINE VF ZerosAt(const int32_t* zero, size_t i, VF one, VI sign) {
  if constexpr (kZeros == Zeros::none || kZeros == Zeros::one) return one;
  const VI bits =
      kZeros == Zeros::each ? hn::LoadU(DI(), zero + i) : hn::Set(DI(), zero[i / kSharing<kZeros>]);
  return hn::BitCast(DF(), hn::Xor(bits, sign));
}

/// AfterFn for elements of which all, some neighbours or none share a zero point.
template <class Rounding, class Out, Zeros kZeros>
void AfterProductOf(const AfterArgs& a) {
  constexpr bool kAdds = kZeros != Zeros::none;
  // The last rounding is part of the narrowing where both are to the same type.
  constexpr bool kRoundsLast =
      !std::is_same_v<Rounding, ToFloat32> && !std::is_same_v<Rounding, Out>;
  const size_t lanes = hn::Lanes(DF());
  const VF factor = hn::Set(DF(), a.factor);
  const VI sign = hn::Set(DI(), a.subtracts ? INT32_MIN : 0);
  const VF one = hn::BitCast(DF(), hn::Xor(hn::Set(DI(), kAdds ? *a.zero : 0), sign));
  const auto step = [&](const float* products, const int32_t* zero, uint8_t* y,
                        bool stream) DEQUANT_ATTR {
    VF v[kStepVectors];
    for (size_t q = 0; q < kStepVectors; ++q) {
      const VF product = Canonical(hn::Mul(hn::LoadU(DF(), products + q * lanes), factor));
      v[q] = product;
      if constexpr (kAdds) {
        v[q] = Canonical(
            hn::Add(RoundTo<Rounding>(product), ZerosAt<kZeros>(zero, q * lanes, one, sign)));
      }
      if constexpr (kRoundsLast) v[q] = RoundTo<Rounding>(v[q]);
    }
    StoreStep<Out>(v, y, stream);
  };
  constexpr size_t kSize = sizeof(typename Out::T);
  constexpr bool kMany = kZeros == Zeros::each || kZeros == Zeros::short_groups;
  static_assert(kMaxStep % kShortResultGroup == 0);
  size_t i = 0;
  for (; i + Step() <= a.count; i += Step()) {
    step(a.products + i, kMany ? a.zero + i / kSharing<kZeros> : nullptr, a.y + i * kSize,
         a.stream);
  }
  if (i == a.count) return;
  const size_t rest = a.count - i;
  alignas(64) float products[kMaxStep];
  alignas(64) int32_t zero[kMaxStep];
  alignas(64) uint8_t y[kMaxStep * kSize];
  copy_padded(a.products + i, rest * sizeof *products, products, sizeof products);
  if constexpr (kMany) {
    const size_t entries = (rest + kSharing<kZeros> - 1) / kSharing<kZeros>;
    copy_padded(a.zero + i / kSharing<kZeros>, entries * sizeof *zero, zero, sizeof zero);
  }
  step(products, zero, y, false);
  copy_bytes(y, rest * kSize, a.y + i * kSize);
}

template <class Rounding, class Out>
void AfterProduct(const AfterArgs& a) {
  static_assert(kResultGroup % kMaxStep == 0);
  if (a.zero == nullptr) return AfterProductOf<Rounding, Out, Zeros::none>(a);
  if (a.group == 1) return AfterProductOf<Rounding, Out, Zeros::each>(a);
  if (a.group == kShortResultGroup && a.count > a.group) {
    return AfterProductOf<Rounding, Out, Zeros::short_groups>(a);
  }
  AfterArgs own = a;
  for (size_t i = 0; i < a.count; i += a.group, ++own.zero) {
    own.products = a.products + i;
    own.y = a.y + i * sizeof(typename Out::T);
    own.count = HWY_MIN(a.group, a.count - i);
    AfterProductOf<Rounding, Out, Zeros::one>(own);
  }
}

/// FloatZeroFn for elements that all have the same scale and zero point, or one each:
/// fl32(round(fl32(value - zero)) * scale).
template <class Type, bool kEach>
void SubtractFloatsOf(const FloatZeroArgs& a) {
  const size_t lanes = hn::Lanes(DF());
  const VF one_scale = hn::Set(DF(), *a.scale);
  const VI one_zero = hn::Set(DI(), *a.zero);
  const auto vector = [&](float* values, const float* scales, const int32_t* zeros) DEQUANT_ATTR {
    const VI zero = kEach ? hn::LoadU(DI(), zeros) : one_zero;
    const VF scale = kEach ? hn::LoadU(DF(), scales) : one_scale;
    const VF exact = hn::Sub(hn::LoadU(DF(), values), hn::BitCast(DF(), zero));
    hn::StoreU(hn::Mul(RoundTo<Type>(Canonical(exact)), scale), DF(), values);
  };
  size_t i = 0;
  for (; i + lanes <= a.count; i += lanes) vector(a.values + i, a.scale + i, a.zero + i);
  if (i == a.count) return;
  const size_t rest = (a.count - i) * sizeof(float);
  alignas(64) float values[kMaxLanes];
  alignas(64) float scale[kMaxLanes];
  alignas(64) int32_t zero[kMaxLanes];
  copy_padded(a.values + i, rest, values, sizeof values);
  if constexpr (kEach) {
    copy_padded(a.scale + i, rest, scale, sizeof scale);
    copy_padded(a.zero + i, rest, zero, sizeof zero);
  }
  vector(values, scale, zero);
  copy_bytes(values, rest, a.values + i);
}

template <class Type>
void SubtractFloats(const FloatZeroArgs& a) {
  if (a.group == 1) return SubtractFloatsOf<Type, true>(a);
  for (size_t i = 0; i < a.count; i += a.group) {
    const size_t g = i / a.group;
    SubtractFloatsOf<Type, false>(
        {a.values + i, HWY_MIN(a.group, a.count - i), a.scale + g, a.zero + g, 0});
  }
}

template <class Type>
void RoundAll(float* values, size_t count) {
  const size_t lanes = hn::Lanes(DF());
  size_t i = 0;
  const auto vector = [](float* v) DEQUANT_ATTR {
    hn::StoreU(RoundTo<Type>(Canonical(hn::LoadU(DF(), v))), DF(), v);
  };
  for (; i + lanes <= count; i += lanes) vector(values + i);
  if (i == count) return;
  alignas(64) float rest[kMaxLanes];
  copy_padded(values + i, (count - i) * sizeof(float), rest, sizeof rest);
  vector(rest);
  copy_bytes(rest, (count - i) * sizeof(float), values + i);
}

template <class Rounding>
void FillRounding(Helpers& helpers, Element type) {
  auto& after = helpers.after_product[output_index(type)];
  after[output_index(Element::float32)] = AfterProduct<Rounding, ToFloat32>;
  after[output_index(Element::float16)] = AfterProduct<Rounding, ToFloat16>;
  after[output_index(Element::bfloat16)] = AfterProduct<Rounding, ToBfloat16>;
  helpers.subtract_floats[output_index(type)] = SubtractFloats<Rounding>;
}

}  // namespace

void FillResults(Table& table) {
  Helpers& helpers = table.helpers;
  FillRounding<ToFloat32>(helpers, Element::float32);
  FillRounding<ToFloat16>(helpers, Element::float16);
  FillRounding<ToBfloat16>(helpers, Element::bfloat16);
  helpers.round_to_float16 = RoundAll<ToFloat16>;
  helpers.round_to_bfloat16 = RoundAll<ToBfloat16>;
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
namespace dequant::HWY_NAMESPACE {
void FillResults(Table&) {}
}  // namespace dequant::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace dequant {
void fill_results(int64_t target, Table& table) { DEQUANT_FILL(target, FillResults, table); }
}  // namespace dequant
#endif
