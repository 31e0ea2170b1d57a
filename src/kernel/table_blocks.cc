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

/// The codes, scales and offsets of a call. A copy on the stack: stores of results could change the
/// arguments themselves, for all the compiler knows, so that it would load them again and again.
struct Groups {
  const int8_t* codes;
  const float* scales;
  const float* offsets;
  int shift;  ///< the logarithm of the elements of a group

  explicit HWY_INLINE Groups(const KernelArgs& a)
      : codes(reinterpret_cast<const int8_t*>(a.x)),
        scales(a.scale),
        offsets(a.offset),
        shift(std::countr_zero(a.group)) {}

  /// The float32 results of the step at element i. As many as kPerGroup vectors share a scale.
  template <bool kAdds, size_t kPerGroup>
  HWY_INLINE void Compute(size_t i, VF* v) const {
    const hn::Rebind<int8_t, DI> d8;
    const size_t group = i >> shift;
    for (size_t q = 0; q < kStepVectors; ++q) {
      const VI code = hn::PromoteTo(DI(), hn::LoadU(d8, codes + i + q * hn::Lanes(DF())));
      v[q] = hn::Mul(hn::ConvertTo(DF(), code), hn::Set(DF(), scales[group + q / kPerGroup]));
      if constexpr (kAdds) v[q] = hn::Add(v[q], hn::Set(DF(), offsets[group + q / kPerGroup]));
    }
  }
};

template <class Out, bool kAdds, size_t kPerGroup>
void BlockSteps(const KernelArgs& a) {
  constexpr size_t kSize = sizeof(typename Out::T);
  const Groups groups(a);
  const size_t whole = a.count / Step() * Step();
  uint8_t* const y = a.y;
  if (a.stream) {
    for (size_t i = 0; i < whole; i += Step()) {
      VF v[kStepVectors];
      groups.Compute<kAdds, kPerGroup>(i, v);
      Out::Store(v, y + i * kSize, true);
    }
  } else {
    for (size_t i = 0; i < whole; i += Step()) {
      for (size_t k = 0; k < Step() * kSize; k += kCacheLine) {
        hwy::Prefetch(y + i * kSize + kPrefetchDistanceY + k);
      }
      VF v[kStepVectors];
      groups.Compute<kAdds, kPerGroup>(i, v);
      Out::Store(v, y + i * kSize, false);
    }
  }
  if (whole == a.count) return;
  alignas(64) uint8_t last[kMaxStep * kSize];
  VF v[kStepVectors];
  groups.Compute<kAdds, kPerGroup>(whole, v);
  Out::Store(v, last, false);
  copy_bytes(last, (a.count - whole) * kSize, y + whole * kSize);
}

/// A scale s and, if kAdds, an offset o for each group, a power of two of 16 codes or more:
/// y = narrow(fl32(code * s)), or narrow(fl32(fl32(code * s) + o)).
template <class Out, bool kAdds>
void BlockKernel(const KernelArgs& a) {
  if (HWY_UNLIKELY(!a.finite_normal)) {
    return special_values_kernel(a, ScaleLayout::per_group, BlockKernel<ToFloat32, kAdds>,
                                 {8, sizeof(typename Out::T), Finish<Out>});
  }
  const size_t vectors = a.group / hn::Lanes(DF());
  if (vectors >= kStepVectors) return BlockSteps<Out, kAdds, kStepVectors>(a);
  if (vectors == 2) return BlockSteps<Out, kAdds, 2>(a);
  BlockSteps<Out, kAdds, 1>(a);
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
