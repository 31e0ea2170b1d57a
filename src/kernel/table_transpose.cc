// Transpositions of codes in registers, for every target. The code for AVX-512 also serves the
// AVX-512 targets with extensions.
#define HWY_DISABLED_TARGETS (DEQUANT_NOT_COMPILED | HWY_AVX3_DL)
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_transpose.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/transpose.h"

#if DEQUANT_VECTOR_PASS
HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Codes in a 128-bit block.
template <class T>
constexpr size_t kCodes = 16 / sizeof(T);

/// Stores each 128-bit block of a vector at `to`, `stride` bytes after the block before it.
template <class D, class V>
HWY_INLINE void StoreBlocks(D d, V v, uint8_t* to, size_t stride) {
  using T = hn::TFromD<D>;
  if constexpr (hn::MaxLanes(D()) == kCodes<T>) {
    hn::StoreU(v, d, reinterpret_cast<T*>(to));
  } else {
    const hn::Half<D> half;
    StoreBlocks(half, hn::LowerHalf(half, v), to, stride);
    StoreBlocks(half, hn::UpperHalf(half, v), to + hn::Lanes(half) / kCodes<T> * stride, stride);
  }
}

/// One of the log2(kRows) shuffles of a transposition: interleaves rows i and i + kRows / 2 to the
/// new rows 2 * i and 2 * i + 1. After the last shuffle, each 128-bit block of row i holds a
/// column: the code i of the block, of every original row.
template <class D, class V, size_t kRows>
HWY_INLINE void Shuffle(D d, V (&v)[kRows]) {
  V out[kRows];
#pragma GCC unroll 8
  for (size_t i = 0; i < kRows / 2; ++i) {
    out[2 * i] = hn::InterleaveLower(d, v[i], v[i + kRows / 2]);
    out[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + kRows / 2]);
  }
#pragma GCC unroll 16
  for (size_t i = 0; i < kRows; ++i) v[i] = out[i];
}

/// Transposes kCodes rows of one vector each. The number of columns is the number of lanes.
template <class D>
HWY_INLINE void Block(D d, const uint8_t* from, ptrdiff_t from_stride, uint8_t* to,
                      size_t to_stride) {
  using T = hn::TFromD<D>;
  constexpr size_t kRows = kCodes<T>;
  hn::Vec<D> v[kRows];
#pragma GCC unroll 16
  for (size_t i = 0; i < kRows; ++i) {
    const uint8_t* row = from + static_cast<ptrdiff_t>(i) * from_stride;
    v[i] = hn::LoadU(d, reinterpret_cast<const T*>(row));
  }
  Shuffle(d, v);
  Shuffle(d, v);
  if constexpr (kRows >= 8) Shuffle(d, v);
  if constexpr (kRows >= 16) Shuffle(d, v);
#pragma GCC unroll 16
  for (size_t i = 0; i < kRows; ++i) StoreBlocks(d, v[i], to + i * to_stride, kRows * to_stride);
}

/// Transposes a matrix in blocks. The last block of a row or column of blocks ends with the matrix
/// and can overlap the block before it.
template <class T>
void Transpose(const TransposeArgs& a) {
  constexpr size_t kRows = kCodes<T>;
  if (a.rows < kRows || a.columns < kRows) return transpose_scalar<T>(a);
  const hn::ScalableTag<T> wide;
  const hn::CappedTag<T, kRows> narrow;
  const size_t lanes = hn::Lanes(wide);
  for (size_t done = 0; done < a.rows; done += kRows) {
    const size_t row = HWY_MIN(done, a.rows - kRows);
    const uint8_t* from = a.from + static_cast<ptrdiff_t>(row) * a.from_stride;
    uint8_t* to = a.to + row * sizeof(T);
    size_t column = 0;
    for (; column + lanes <= a.columns; column += lanes) {
      Block(wide, from + column * sizeof(T), a.from_stride, to + column * a.to_stride, a.to_stride);
    }
    for (; column < a.columns; column += kRows) {
      const size_t at = HWY_MIN(column, a.columns - kRows);
      Block(narrow, from + at * sizeof(T), a.from_stride, to + at * a.to_stride, a.to_stride);
    }
  }
}

}  // namespace

void FillTransposes(Table& table) {
  table.transpose = {Transpose<uint8_t>, Transpose<uint16_t>, Transpose<uint32_t>};
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
namespace dequant::HWY_NAMESPACE {
void FillTransposes(Table&) {}
}  // namespace dequant::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace dequant {
void fill_transposes(int64_t target, Table& table) {
  DEQUANT_FILL(target == HWY_AVX3_DL ? HWY_AVX3 : target, FillTransposes, table);
}
}  // namespace dequant
#endif
