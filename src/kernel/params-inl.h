// Parameters of kernels: scales, zero points and offsets. A parameter class P has
//   Values(in, x, v), which computes the float32 results of a step from the codes at x,
//     or Results(in, x, results), which looks up the rounded 16-bit results of a step;
//   Advance(), which moves to the parameters of the next step;
//   PadLast(count, padding), which copies the parameters of the last `count` elements to the
//     zero-padded buffer `padding` and reads them from there, so that no load leaves the arrays.
#include "hwy/highway.h"
#include "kernel/decode_packed-inl.h"
#include "kernel/lookup-inl.h"
#include "kernel/narrow-inl.h"
#include "kernel/special_values.h"

#if defined(DEQUANT_PARAMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_PARAMS_INL_H_
#undef DEQUANT_PARAMS_INL_H_
#else
#define DEQUANT_PARAMS_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// True for decoders whose float32 results are looked up in a table with one entry for each code,
/// computed once for each scale.
template <class In>
constexpr bool UsesTable() {
  if constexpr (requires { In::kTable; }) return In::kTable;
  return false;
}

/// v = fl32(x - zero) for a step; zero(q) is the vector of zero points of vector q.
template <class In, class Zero>
HWY_INLINE void Differences(const typename In::Raw* raw, const Zero& zero, VF* v) {
  for (size_t q = 0; q < kStepVectors; ++q) v[q] = In::Difference(raw[q], zero(q));
  if constexpr (requires { In::Wrapped(raw[0], zero(0)); }) {
    auto wrapped = In::Wrapped(raw[0], zero(0));
    for (size_t q = 1; q < kStepVectors; ++q)
      wrapped = hn::Or(wrapped, In::Wrapped(raw[q], zero(q)));
    if (HWY_UNLIKELY(!hn::AllFalse(DI(), hn::Lt(wrapped, hn::Zero(DI()))))) {
      for (size_t q = 0; q < kStepVectors; ++q) v[q] = In::WideDifference(raw[q], zero(q));
    }
  }
}

/// One scale, zero point and, if kAdds, offset for all elements:
/// fl32(difference * scale), or fl32(fl32(difference * scale) + offset).
template <class In, class Out, bool kAdds>
struct Uniform {
  struct Padding {};
  VF scale;
  VI zero;
  VF offset;

  HWY_INLINE Uniform(const In&, float s, int32_t z, float o)
      : scale(hn::Set(DF(), s)), zero(hn::Set(DI(), z)), offset(hn::Set(DF(), o)) {}
  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    typename In::Raw raw[kStepVectors];
    in.Decode(p, raw);
    Differences<In>(
        raw, [this](size_t) DEQUANT_ATTR { return zero; }, v);
    for (size_t q = 0; q < kStepVectors; ++q) {
      v[q] = hn::Mul(v[q], scale);
      if constexpr (kAdds) v[q] = hn::Add(v[q], offset);
    }
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// Scales and zero points of groups of kVectors vectors: pointers to the entries of the next step,
/// which holds one or more whole groups.
template <size_t kVectors>
struct Blocks {
  static constexpr size_t kScales = kStepVectors / kVectors;
  struct Padding {
    float scale[kScales];
    int32_t zero[kScales];
  };
  const float* scale;
  const int32_t* zero;

  HWY_INLINE Blocks(const float* s, const int32_t* z) : scale(s), zero(z) {}
  HWY_INLINE void Advance() {
    scale += kScales;
    zero += kScales;
  }
  HWY_INLINE void PadLast(size_t count, Padding& padding) {
    const size_t scales = (count - 1) / (kVectors * hn::Lanes(DF())) + 1;
    copy_padded(scale, scales * sizeof *scale, padding.scale, sizeof padding.scale);
    copy_padded(zero, scales * sizeof *zero, padding.zero, sizeof padding.zero);
    scale = padding.scale;
    zero = padding.zero;
  }
};

/// One scale and zero point for each group of kVectors vectors: fl32(fl32(x - zero) * scale).
template <class In, class Out, size_t kVectors>
struct Blocked : Blocks<kVectors> {
  HWY_INLINE Blocked(const float* s, const int32_t* z) : Blocks<kVectors>(s, z) {}
  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    typename In::Raw raw[kStepVectors];
    in.Decode(p, raw);
    Differences<In>(
        raw, [this](size_t q) DEQUANT_ATTR { return hn::Set(DI(), this->zero[q / kVectors]); }, v);
    for (size_t q = 0; q < kStepVectors; ++q) {
      v[q] = hn::Mul(v[q], hn::Set(DF(), this->scale[q / kVectors]));
    }
  }
};

#if DEQUANT_LANE_SHIFTS

/// One scale and zero point for all elements; float32 results from a table of the results of all
/// codes.
template <class In, class Out>
requires(UsesTable<In>() && !LooksUp<In, Out>()) struct Uniform<In, Out, false> {
  struct Padding {};
  VF table;

  HWY_INLINE Uniform(const In& in, float s, int32_t z, float)
      : table(ResultsFrom(in, 0, hn::Set(DF(), s), hn::Set(DI(), z))) {}
  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    VU index[kStepVectors];
    in.Index(p, index);
    for (size_t q = 0; q < kStepVectors; ++q) v[q] = Lookup(table, index[q]);
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// One scale and zero point for each group of kVectors vectors; float32 results from a table for
/// each group.
template <class In, class Out, size_t kVectors>
requires(UsesTable<In>() && !LooksUpBlocks<In, Out, kVectors>()) struct Blocked<In, Out, kVectors>
    : Blocks<kVectors> {
  HWY_INLINE Blocked(const float* s, const int32_t* z) : Blocks<kVectors>(s, z) {}
  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    VU index[kStepVectors];
    in.Index(p, index);
    for (size_t k = 0; k < Blocks<kVectors>::kScales; ++k) {
      const auto table =
          ResultsFrom(in, 0, hn::Set(DF(), this->scale[k]), hn::Set(DI(), this->zero[k]));
      for (size_t q = k * kVectors; q < (k + 1) * kVectors; ++q) v[q] = Lookup(table, index[q]);
    }
  }
};

#endif  // DEQUANT_LANE_SHIFTS

/// One scale and zero point for all elements; 16-bit results from a table of the results of all
/// codes.
template <class In, class Out>
requires(LooksUp<In, Out>()) struct Uniform<In, Out, false> {
  struct Padding {};
  ResultLookup<In::kBits> lookup;
  ResultTable tables[1];

  HWY_INLINE Uniform(const In& in, float s, int32_t z, float)
      : lookup(), tables{ResultTable::Of<Out>(in, hn::Set(DF(), s), hn::Set(DI(), z))} {}
  HWY_INLINE void Results(const In&, const uint8_t* p, V16* results) const {
    lookup.LookUp(p, tables, results);
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// One scale and zero point for each group of kVectors vectors; 16-bit results from kTables tables
/// for each step, each with the results of kShare groups.
template <class In, class Out, size_t kVectors>
requires(LooksUpBlocks<In, Out, kVectors>()) struct Blocked<In, Out, kVectors> : Blocks<kVectors> {
  static constexpr size_t kTables = TablesOfStep<In, Out, kVectors>();
  static constexpr size_t kShare = Blocks<kVectors>::kScales / kTables;
  ResultLookup<In::kBits, kShare == 1 ? 0 : kVectors> lookup;

  HWY_INLINE Blocked(const float* s, const int32_t* z) : Blocks<kVectors>(s, z), lookup() {}
  HWY_INLINE void Results(const In& in, const uint8_t* p, V16* results) const {
    ResultTable tables[kTables];
    for (size_t k = 0; k < kTables; ++k) {
      tables[k] = TableOfGroups<Out, kShare>(in, this->scale + k * kShare, this->zero + k * kShare);
    }
    lookup.LookUp(p, tables, results);
  }
};

/// One scale and zero point for each element: fl32(fl32(x - zero) * scale).
template <class In>
struct PerElement {
  struct Padding {
    alignas(64) float scale[kMaxStep];
    alignas(64) int32_t zero[kMaxStep];
  };
  const float* scale;
  const int32_t* zero;

  HWY_INLINE void Values(const In& in, const uint8_t* p, VF* v) const {
    typename In::Raw raw[kStepVectors];
    in.Decode(p, raw);
    const size_t lanes = hn::Lanes(DF());
    Differences<In>(
        raw, [this, lanes](size_t q) DEQUANT_ATTR { return hn::LoadU(DI(), zero + q * lanes); }, v);
    for (size_t q = 0; q < kStepVectors; ++q) {
      v[q] = hn::Mul(v[q], hn::LoadU(DF(), scale + q * lanes));
    }
  }
  HWY_INLINE void Advance() {
    scale += Step();
    zero += Step();
  }
  HWY_INLINE void PadLast(size_t count, Padding& padding) {
    copy_padded(scale, count * 4, padding.scale, sizeof padding.scale);
    copy_padded(zero, count * 4, padding.zero, sizeof padding.zero);
    *this = {padding.scale, padding.zero};
  }
};

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
