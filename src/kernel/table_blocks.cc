// Unpacking of blocks, and the kernels of their codes, for every target.
#include <bit>

#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_blocks.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/blocks-inl.h"
#include "kernel/blocks_iq-inl.h"
#include "kernel/blocks_k-inl.h"
#include "kernel/narrow-inl.h"
#include "kernel/special_values.h"

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

/// A scale s and, if kAdds, an offset o for each group, a power of two of 16 codes or more:
/// y = narrow(fl32(code * s)), or narrow(fl32(fl32(code * s) + o)).
template <class Out, bool kAdds>
void BlockKernel(const KernelArgs& a) {
  constexpr size_t kSize = sizeof(typename Out::T);
  if (HWY_UNLIKELY(!a.finite_normal)) {
    return special_values_kernel(a, ScaleLayout::per_group, BlockKernel<ToFloat32, kAdds>,
                                 {8, kSize, Finish<Out>});
  }
  const auto* codes = reinterpret_cast<const int8_t*>(a.x);
  const int shift = std::countr_zero(a.group);
  const size_t lanes = hn::Lanes(DF());
  const bool one_group = a.group >= Step();  // in each step
  const auto step = [&](size_t i, uint8_t* y, bool stream) DEQUANT_ATTR {
    const hn::Rebind<int8_t, DI> d8;
    VF v[kStepVectors];
    const auto compute = [&](size_t q, VF scale, const float* offset) DEQUANT_ATTR {
      const VI code = hn::PromoteTo(DI(), hn::LoadU(d8, codes + i + q * lanes));
      v[q] = hn::Mul(hn::ConvertTo(DF(), code), scale);
      if constexpr (kAdds) v[q] = hn::Add(v[q], hn::Set(DF(), *offset));
    };
    if (one_group) {
      const size_t group = i >> shift;
      const VF scale = hn::Set(DF(), a.scale[group]);
      for (size_t q = 0; q < kStepVectors; ++q)
        compute(q, scale, kAdds ? a.offset + group : nullptr);
    } else {
      for (size_t q = 0; q < kStepVectors; ++q) {
        const size_t group = (i + q * lanes) >> shift;
        compute(q, hn::Set(DF(), a.scale[group]), kAdds ? a.offset + group : nullptr);
      }
    }
    Out::Store(v, y, stream);
  };
  size_t i = 0;
  for (; i + Step() <= a.count; i += Step()) {
    uint8_t* y = a.y + i * kSize;
    if (!a.stream) {
      for (size_t k = 0; k < Step() * kSize; k += kCacheLine) {
        hwy::Prefetch(y + kPrefetchDistanceY + k);
      }
    }
    step(i, y, a.stream);
  }
  if (i == a.count) return;
  alignas(64) uint8_t last[kMaxStep * kSize];
  step(i, last, false);
  copy_bytes(last, (a.count - i) * kSize, a.y + i * kSize);
}

}  // namespace

void FillBlocks(Table& table) {
  table.block_products = {BlockKernel<ToFloat32, false>, BlockKernel<ToFloat16, false>,
                          BlockKernel<ToBfloat16, false>};
  table.block_sums = {BlockKernel<ToFloat32, true>, BlockKernel<ToFloat16, true>,
                      BlockKernel<ToBfloat16, true>};
#define DEQUANT_BLOCK(name, ...)                              \
  table.unpack_blocks[static_cast<size_t>(BlockType::name)] = \
      UnpackAll<BlockType::name, Unpack##name>;
#include "dequant/blocks.def"
#undef DEQUANT_BLOCK
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
namespace dequant::HWY_NAMESPACE {
void FillBlocks(Table&) {}
}  // namespace dequant::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace dequant {
void fill_block_kernels(int64_t target, Table& table) { DEQUANT_FILL(target, FillBlocks, table); }
}  // namespace dequant
#endif
