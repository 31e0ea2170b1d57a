// Kernels of the rules of ranges, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_range.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/formula-inl.h"
#include "kernel/kernel-inl.h"
#include "kernel/range-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

#if DEQUANT_VECTOR_PASS
/// The kernels of an element under the rules of ranges and under the documented rules.
template <class In, Element kX>
void FillRanges(Table& table) {
  constexpr size_t kIndex = range_index(kX);
  table.range_kernels[kIndex] = {
      {{PerGroupKernel<In, ToFloat32, true>, ShiftedKernel<In, ToFloat32>},
       {PerGroupKernel<In, ToFloat16, true>, ShiftedKernel<In, ToFloat16>},
       {PerGroupKernel<In, ToBfloat16, true>, ShiftedKernel<In, ToBfloat16>}}};
  table.formula_kernels[kIndex] = FormulaKernel<In>;
}
#endif

void FillRange([[maybe_unused]] Table& table) {
#if DEQUANT_VECTOR_PASS
  FillRanges<Whole<uint8_t>, Element::uint8>(table);
  FillRanges<Whole<int8_t>, Element::int8>(table);
  FillRanges<Whole<uint16_t>, Element::uint16>(table);
  FillRanges<Whole<int16_t>, Element::int16>(table);
  FillRanges<Rounded, Element::int32>(table);
#endif
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dequant {
void fill_range_kernels(int64_t target, Table& table) { DEQUANT_FILL(target, FillRange, table); }
}  // namespace dequant
#endif
