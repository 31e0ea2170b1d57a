// Unpacking of blocks, and the kernels of their codes, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_blocks.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/blocks_iq-inl.h"
#include "kernel/blocks_iq1-inl.h"
#include "kernel/blocks_k-inl.h"
#include "kernel/blocks_small-inl.h"
#include "kernel/narrow-inl.h"
#include "kernel/special_values.h"

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

/// The next codes, scales, offsets and results of a call. They are a copy of the arguments: stores
/// of results could change the arguments themselves, for all the compiler knows.
struct Cursor {
  const int8_t* codes;
  const float* scales;
  const float* offsets;
  uint8_t* y;

  explicit HWY_INLINE Cursor(const KernelArgs& a)
      : codes(reinterpret_cast<const int8_t*>(a.x)), scales(a.scale), offsets(a.offset), y(a.y) {}

  /// The float32 results of a step. Of kGroups groups, whose codes are `apart` bytes apart, each
  /// has an equal share of the vectors.
  template <bool kAdds, size_t kGroups>
  HWY_INLINE void Compute(size_t apart, VF* v) const {
    constexpr size_t kVectors = kStepVectors / kGroups;
    const hn::Rebind<int8_t, DI> d8;
    for (size_t q = 0; q < kStepVectors; ++q) {
      const size_t group = q / kVectors;
      const int8_t* from = codes + group * apart + q % kVectors * hn::Lanes(DF());
      v[q] = hn::Mul(hn::ConvertTo(DF(), hn::PromoteTo(DI(), hn::LoadU(d8, from))),
                     hn::Set(DF(), scales[group]));
      if constexpr (kAdds) v[q] = hn::Add(v[q], hn::Set(DF(), offsets[group]));
    }
  }

  template <class Out, bool kAdds, size_t kGroups, bool kStream>
  HWY_INLINE void Step(size_t apart) {
    constexpr size_t kBytes = kStepVectors * hn::MaxLanes(DF()) * sizeof(typename Out::T);
    VF v[kStepVectors];
    Compute<kAdds, kGroups>(apart, v);
    Out::Store(v, y, kStream);
    y += kBytes;
  }

  template <class Out, bool kAdds, size_t kGroups, bool kStream>
  HWY_INLINE void NextStep(size_t apart) {
    Step<Out, kAdds, kGroups, kStream>(apart);
    codes += kGroups * apart;
    NextGroups<kAdds>(kGroups);
  }

  template <bool kAdds>
  HWY_INLINE void NextGroups(size_t groups) {
    scales += groups;
    if constexpr (kAdds) offsets += groups;
  }
};

/// Steps of kGroups whole groups.
template <class Out, bool kAdds, size_t kGroups, bool kStream>
HWY_INLINE void ShortGroups(const KernelArgs& a) {
  Cursor at(a);
  const size_t apart = a.x_row;
  size_t left = a.count / Step();
  for (; left >= 2; left -= 2) {
    at.NextStep<Out, kAdds, kGroups, kStream>(apart);
    at.NextStep<Out, kAdds, kGroups, kStream>(apart);
  }
  if (left != 0) at.NextStep<Out, kAdds, kGroups, kStream>(apart);
  const size_t rest = a.count % Step();
  if (rest == 0) return;
  constexpr size_t kSize = sizeof(typename Out::T);
  alignas(64) uint8_t last[kMaxStep * kSize];
  VF v[kStepVectors];
  at.Compute<kAdds, kGroups>(apart, v);
  Out::Store(v, last, false);
  copy_bytes(last, rest * kSize, at.y);
}

/// Groups of several steps, an even number of them.
template <class Out, bool kAdds, bool kStream>
HWY_INLINE void LongGroups(const KernelArgs& a) {
  Cursor at(a);
  const size_t pairs = a.group / (2 * Step());
  const size_t gap = a.x_row - a.group;
  for (size_t left = a.count / a.group; left != 0; --left) {
    for (size_t pair = pairs; pair != 0; --pair) {
      at.Step<Out, kAdds, 1, kStream>(0);
      at.codes += Step();
      at.Step<Out, kAdds, 1, kStream>(0);
      at.codes += Step();
    }
    at.codes += gap;
    at.NextGroups<kAdds>(1);
  }
}

template <class Out, bool kAdds, bool kStream>
HWY_INLINE void AnyGroups(const KernelArgs& a) {
  if (a.group > Step()) return LongGroups<Out, kAdds, kStream>(a);
  if (a.group == Step()) return ShortGroups<Out, kAdds, 1, kStream>(a);
  if constexpr (kMaxLanes >= 8) {
    if (2 * a.group == Step()) return ShortGroups<Out, kAdds, 2, kStream>(a);
  }
  if constexpr (kMaxLanes >= 16) ShortGroups<Out, kAdds, 4, kStream>(a);
}

/// A scale s and, if kAdds, an offset o for each group, a power of two of 16 codes or more:
/// y = narrow(fl32(code * s)), or narrow(fl32(fl32(code * s) + o)).
template <class Out, bool kAdds>
void BlockKernel(const KernelArgs& a) {
  if (HWY_UNLIKELY(!a.finite_normal)) {
    return special_values_kernel(a, ScaleLayout::per_group, BlockKernel<ToFloat32, kAdds>,
                                 {8, sizeof(typename Out::T), Finish<Out>});
  }
  a.stream ? AnyGroups<Out, kAdds, true>(a) : AnyGroups<Out, kAdds, false>(a);
}

}  // namespace

void FillBlocks(Table& table) {
  table.block_products = {BlockKernel<ToFloat32, false>, BlockKernel<ToFloat16, false>,
                          BlockKernel<ToBfloat16, false>};
  table.block_sums = {BlockKernel<ToFloat32, true>, BlockKernel<ToFloat16, true>,
                      BlockKernel<ToBfloat16, true>};
  table.blocks_in_place = true;
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
