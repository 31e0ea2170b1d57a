// Kernels of the 4- and 2-bit integers, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_subbyte.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/kernel-inl.h"
#include "kernel/shared_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

void FillSubbyte([[maybe_unused]] Table& table) {
#if DEQUANT_VECTOR_PASS
  FillElement<Packed<Nibbles, false>>(table, Element::uint4);
  FillElement<Packed<Nibbles, true>>(table, Element::int4);
  FillElement<Packed<Pairs, false>>(table, Element::uint2);
  FillElement<Packed<Pairs, true>>(table, Element::int2);
  FillShared<Packed<Pairs, false>>(table, Element::uint2);
  FillShared<Packed<Pairs, true>>(table, Element::int2);
#endif
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dequant {
void fill_subbyte_kernels(int64_t target, Table& table) {
  DEQUANT_FILL(target, FillSubbyte, table);
}
}  // namespace dequant
#endif
