// Kernels of the integers of whole bytes, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_int.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

void FillInt([[maybe_unused]] Table& table) {
#if DEQUANT_VECTOR_PASS
  FillElement<Whole<uint8_t>>(table, Element::uint8);
  FillElement<Whole<int8_t>>(table, Element::int8);
  FillElement<Whole<uint16_t>>(table, Element::uint16);
  FillElement<Whole<int16_t>>(table, Element::int16);
  FillElement<Wide<true>>(table, Element::uint32);
  FillElement<Wide<false>>(table, Element::int32);
#endif
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dequant {
void fill_int_kernels(int64_t target, Table& table) { DEQUANT_FILL(target, FillInt, table); }
}  // namespace dequant
#endif
