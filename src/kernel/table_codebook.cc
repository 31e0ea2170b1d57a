// Kernels of codebooks, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_codebook.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/kernel-inl.h"

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

/// Bytes that are indices of a table of float32.
struct Indices {
  static constexpr int kBits = 8;
  using Raw = VF;
  const float* values;

  explicit HWY_INLINE Indices(const float* lut) : values(lut) {}
  static HWY_INLINE VI Index(const uint8_t* p, size_t q) {
    const hn::Rebind<uint8_t, DI> d;
    return hn::PromoteTo(DI(), hn::LoadU(d, p + q * hn::Lanes(d)));
  }
  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    for (size_t q = 0; q < kStepVectors; ++q) raw[q] = hn::GatherIndex(DF(), values, Index(p, q));
  }
  static HWY_INLINE VF Difference(VF x, VI) { return x; }
};

#if DEQUANT_LANE_SHIFTS

/// The same for tables of sixteen values, which vectors hold.
struct SmallIndices : Indices {
  FloatTable table;

  explicit HWY_INLINE SmallIndices(const float* lut) : Indices(lut), table(lut) {}
  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    for (size_t q = 0; q < kStepVectors; ++q) {
      raw[q] = table.At(hn::BitCast(DU(), Index(p, q)));
    }
  }
};

#else
using SmallIndices = Indices;
#endif

template <class In, class Out>
void FillOutput(Table& table, bool small, Element y) {
  table.codebook_at(small, y, ScaleLayout::per_group) = PerGroupKernel<In, Out, false>;
  table.codebook_at(small, y, ScaleLayout::per_element) = PerElementKernel<In, Out>;
}

template <class In>
void FillTable(Table& table, bool small) {
  FillOutput<In, ToFloat32>(table, small, Element::float32);
  FillOutput<In, ToFloat16>(table, small, Element::float16);
  FillOutput<In, ToBfloat16>(table, small, Element::bfloat16);
}

}  // namespace

void FillCodebooks(Table& table) {
  FillTable<SmallIndices>(table, true);
  FillTable<Indices>(table, false);
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
namespace dequant::HWY_NAMESPACE {
void FillCodebooks(Table&) {}
}  // namespace dequant::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace dequant {
void fill_codebook_kernels(int64_t target, Table& table) {
  DEQUANT_FILL(target, FillCodebooks, table);
}
}  // namespace dequant
#endif
