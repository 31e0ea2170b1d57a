// Kernels of the 8-, 6- and 4-bit floats, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_float.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

void FillFloat([[maybe_unused]] Table& table) {
#if DEQUANT_VECTOR_PASS
  for (const Element x :
       {Element::float8e4m3fn, Element::float8e4m3fnuz, Element::float8e5m2fnuz}) {
    FillElement<Float8<false>>(table, x);
  }
  FillElement<Float8<true>>(table, Element::float8e5m2);
  FillElement<Float4>(table, Element::float4e2m1);
  for (const Element x : elements()) {
    if (kind(x) == Kind::floating && bits(x) == 6) FillElement<Float6>(table, x);
  }
#endif
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dequant {
void fill_float_kernels(int64_t target, Table& table) { DEQUANT_FILL(target, FillFloat, table); }
}  // namespace dequant
#endif
