// Rows of the rules of ranges, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_range.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/line-inl.h"
#include "kernel/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

#if DEQUANT_VECTOR_PASS
/// The rows of an element under the rules of ranges.
template <class In>
void FillRanges(Table& table, Element x) {
  table.range_at(x, Element::float32, Leaf::runs) = Row<In, ToFloat32, Leaf::runs, true>;
  table.range_at(x, Element::float32, Leaf::varying) = Row<In, ToFloat32, Leaf::varying, true>;
  table.range_at(x, Element::float16, Leaf::runs) = Row<In, ToFloat16, Leaf::runs, true>;
  table.range_at(x, Element::float16, Leaf::varying) = Row<In, ToFloat16, Leaf::varying, true>;
  table.range_at(x, Element::bfloat16, Leaf::runs) = Row<In, ToBfloat16, Leaf::runs, true>;
  table.range_at(x, Element::bfloat16, Leaf::varying) = Row<In, ToBfloat16, Leaf::varying, true>;
  table.line_at(x) = LineRow<In>;
}
#endif

void FillRange([[maybe_unused]] Table& table) {
#if DEQUANT_VECTOR_PASS
  FillRanges<Whole<uint8_t>>(table, Element::uint8);
  FillRanges<Whole<int8_t>>(table, Element::int8);
  FillRanges<Whole<uint16_t>>(table, Element::uint16);
  FillRanges<Whole<int16_t>>(table, Element::int16);
  FillRanges<Rounded>(table, Element::int32);
#endif
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dequant {
void fill_range_rows(int64_t target, Table& table) { DEQUANT_FILL(target, FillRange, table); }
}  // namespace dequant
#endif
