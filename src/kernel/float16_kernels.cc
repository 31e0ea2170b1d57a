// Kernels with the output float16, for processors with float16 arithmetic (AVX512-FP16) and scales
// that are exact in float16:
//   y = fl16((x - zero) * scale), with one rounding.
// These are the bits of narrow(fl32(fl32(x - zero) * scale)): x - zero has at most 9 significant
// bits and a scale 11, so float32 holds the product exactly, and only the rounding to float16 is
// left. All other calls go to the kernels of the fallback table. The kernels are written with
// intrinsics because Highway 1.0.3 has no float16 arithmetic; docs/performance.md has the gain.
#include "kernel/targets.h"

#if defined(__x86_64__) && defined(__clang__)
#define DEQUANT_FLOAT16_KERNELS (__clang_major__ >= 15)
#elif defined(__x86_64__)
#define DEQUANT_FLOAT16_KERNELS (__GNUC__ >= 12)
#else
#define DEQUANT_FLOAT16_KERNELS 0
#endif

#if DEQUANT_FLOAT16_KERNELS

#include <cpuid.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "hwy/base.h"
#include "kernel/special_values.h"

HWY_DIAGNOSTICS(push)
#if HWY_COMPILER_GCC_ACTUAL  // its warnings about its own intrinsics are false
HWY_DIAGNOSTICS_OFF(disable : 4701, ignored "-Wmaybe-uninitialized")
#endif
HWY_PUSH_ATTRIBUTES("f16c,avx512f,avx512bw,avx512vl,avx512vbmi,avx512fp16")
namespace dequant {
namespace {

/// The kernels of the same processor without float16 arithmetic. constinit, because the table is
/// filled while the library is loaded, possibly before the constructors of this file would run.
constinit Table fallback;

#include "kernel/two_cache_lines-inl.h"

#include "kernel/float16_decode-inl.h"

/// Elements of a tile, whose parameters are narrowed once for all rows.
constexpr size_t kTile = 4096;

// Parameters of vector k of an iteration: Scale(k), the scales, and Zero(k), the zero points.

/// One scale and zero point for all elements.
struct Uniform {
  struct Padding {};
  __m512h scale;
  __m512i zero;

  HWY_INLINE Uniform(float s, int32_t z)
      : scale(halves_of(
            _mm512_broadcastw_epi16(_mm_cvtps_ph(_mm_set_ss(s), _MM_FROUND_CUR_DIRECTION)))),
        zero(_mm512_set1_epi16(static_cast<int16_t>(z))) {}
  HWY_INLINE __m512h Scale(size_t) const { return scale; }
  HWY_INLINE __m512i Zero(size_t) const { return zero; }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// One scale and zero point for each group of 16 or 32 elements.
struct Blocked {
  struct Padding {
    float scale[4];
    int32_t zero[4];
  };
  /// For each element of an iteration, the index of its scale, a 16-bit word. The low word of its
  /// zero point, an int32, has twice this index.
  template <size_t kGroup>
  static constexpr auto kOrder = [] {
    std::array<uint16_t, kUnroll> order{};
    for (size_t i = 0; i < kUnroll; ++i) order[i] = static_cast<uint16_t>(i / kGroup);
    return order;
  }();
  const float* scale;
  const int32_t* zero;
  size_t group;
  __m512i order[2];

  HWY_INLINE explicit Blocked(const KernelArgs& a) : scale(a.scale), zero(a.zero), group(a.group) {
    const uint16_t* from = group == 16 ? kOrder<16>.data() : kOrder<32>.data();
    for (size_t k = 0; k < 2; ++k) order[k] = _mm512_loadu_si512(from + k * kLanes);
  }
  /// The scales or zero points of an iteration, four or two of 32 bits, and no byte more.
  HWY_INLINE __m128i Load(const void* from) const {
    const auto* p = static_cast<const __m128i*>(from);
    return group == 16 ? _mm_loadu_si128(p) : _mm_loadl_epi64(p);
  }
  HWY_INLINE __m512h Scale(size_t k) const {
    const __m128i narrow = _mm_cvtps_ph(_mm_castsi128_ps(Load(scale)), _MM_FROUND_CUR_DIRECTION);
    return halves_of(_mm512_permutexvar_epi16(order[k], _mm512_castsi128_si512(narrow)));
  }
  HWY_INLINE __m512i Zero(size_t k) const {
    const __m512i twice = _mm512_add_epi16(order[k], order[k]);
    return _mm512_permutexvar_epi16(twice, _mm512_castsi128_si512(Load(zero)));
  }
  HWY_INLINE void Advance() {
    scale += kUnroll / group;
    zero += kUnroll / group;
  }
  HWY_INLINE void PadLast(size_t count, Padding& padding) {
    const size_t blocks = (count - 1) / group + 1;
    copy_padded(scale, blocks * sizeof *scale, padding.scale, sizeof padding.scale);
    copy_padded(zero, blocks * sizeof *zero, padding.zero, sizeof padding.zero);
    scale = padding.scale;
    zero = padding.zero;
  }
};

/// One scale and zero point for each element, in 16 bits, with entries for whole iterations.
struct PerElement {
  struct Padding {};
  const uint16_t* scale;
  const int16_t* zero;

  HWY_INLINE __m512h Scale(size_t k) const {
    return halves_of(_mm512_loadu_si512(scale + k * kLanes));
  }
  HWY_INLINE __m512i Zero(size_t k) const { return _mm512_loadu_si512(zero + k * kLanes); }
  HWY_INLINE void Advance() {
    scale += kUnroll;
    zero += kUnroll;
  }
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// Helpers::narrow of 32 elements.
HWY_INLINE void NarrowVector(const float* scale, const int32_t* zero, uint16_t* scale16,
                             int16_t* zero16) {
  const __m256i low = _mm512_cvtps_ph(_mm512_loadu_ps(scale), _MM_FROUND_CUR_DIRECTION);
  const __m256i high = _mm512_cvtps_ph(_mm512_loadu_ps(scale + 16), _MM_FROUND_CUR_DIRECTION);
  const __m512i pairs = _mm512_packs_epi32(_mm512_loadu_si512(zero), _mm512_loadu_si512(zero + 16));
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  _mm512_storeu_si512(scale16, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
  _mm512_storeu_si512(zero16, _mm512_permutexvar_epi64(order, pairs));
}

/// Helpers::narrow.
HWY_NOINLINE void NarrowParams(const float* scale, const int32_t* zero, size_t count,
                               uint16_t* scale16, int16_t* zero16) {
  static_assert(kUnroll <= Helpers::kNarrowSlack);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    NarrowVector(scale + i, zero + i, scale16 + i, zero16 + i);
  }
  if (i == count) return;
  alignas(64) float last_scale[kLanes];
  alignas(64) int32_t last_zero[kLanes];
  copy_padded(scale + i, (count - i) * sizeof *scale, last_scale, sizeof last_scale);
  copy_padded(zero + i, (count - i) * sizeof *zero, last_zero, sizeof last_zero);
  NarrowVector(last_scale, last_zero, scale16 + i, zero16 + i);
}

/// Helpers::narrow_zeros. The zero points of floats are zero.
template <class Code>
void NarrowZeros(const uint8_t* zero, size_t count, int16_t* zero16) {
  if constexpr (Code::kNan) {
    std::fill_n(zero16, count, int16_t{0});
  } else {
    static_assert(kLanes <= Helpers::kNarrowSlack);
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      _mm512_storeu_si512(zero16 + i, Code::Words(zero + i * Code::kBits / 8));
    }
    if (i == count) return;
    uint8_t last[kLanes * Code::kBits / 8];
    copy_padded(zero + i * Code::kBits / 8, ((count - i) * Code::kBits + 7) / 8, last, sizeof last);
    _mm512_storeu_si512(zero16 + i, Code::Words(last));
  }
}

/// Helpers::all_finite_normal16. All float16 numbers but zero and infinities are finite and normal,
/// as their magnitudes are 2^-24 or more. Doubling a code drops the sign. Where zero is not
/// allowed, subtracting one makes zero the largest word.
bool AllFiniteNormal(const uint16_t* codes, size_t count, bool zero_too) {
  const __m512i less = _mm512_set1_epi16(zero_too ? 0 : 1);
  __m512i largest = _mm512_setzero_si512();
  uint16_t last[kLanes];
  for (size_t i = 0; i < count; i += kLanes) {
    const uint16_t* from = codes + i;
    if (count - i < kLanes) {
      std::fill_n(last, kLanes, *from);
      std::copy_n(from, count - i, last);
      from = last;
    }
    const __m512i v = _mm512_loadu_si512(from);
    largest = _mm512_max_epu16(largest, _mm512_sub_epi16(_mm512_add_epi16(v, v), less));
  }
  const __m512i infinite = _mm512_sub_epi16(_mm512_set1_epi16(static_cast<int16_t>(0xF800)), less);
  return _mm512_cmpge_epu16_mask(largest, infinite) == 0;
}

/// The kernel of a decoder and parameters: fl16((x - zero) * scale), with the canonical NaN.
template <class Code, class Params>
struct Product : Params {
  static constexpr size_t kBits = Code::kBits;

  HWY_INLINE explicit Product(const Params& params) : Params(params) {}
  HWY_INLINE void Results(const uint8_t* x, __m512i* lines) const {
    for (size_t k = 0; k < 2; ++k) {
      const uint8_t* codes = x + k * kLanes * kBits / 8;
      const __m512h y = _mm512_mul_ph(Code::Difference(codes, this->Zero(k)), this->Scale(k));
      lines[k] = words_of(y);
      if constexpr (Code::kNan) {
        const __mmask32 nan = _mm512_mask_cmp_ph_mask(~__mmask32{0}, y, y, _CMP_UNORD_Q);
        lines[k] = _mm512_mask_set1_epi16(lines[k], nan, kCanonicalNan);
      }
    }
  }
};

template <class Code, class Params>
HWY_INLINE void Loop(const Params& params, const uint8_t* x, uint8_t* y, size_t count,
                     size_t prefetch_distance) {
  TwoCacheLines(Product<Code, Params>(params), x, y, count, prefetch_distance);
}

/// One scale and zero point for each group.
template <class Code, Element kElement>
void PerGroupKernel(const KernelArgs& a) {
  if (!a.finite_normal || !a.scales_of_y || a.group > Code::kLongest) {
    return fallback.at(kElement, Element::float16, ScaleLayout::per_group)(a);
  }
  if ((a.group == 16 || a.group == 32) && a.count > a.group) {
    return Loop<Code>(Blocked(a), a.x, a.y, a.count, prefetch_distance_of(a, a.y));
  }
  for (size_t i = 0, group = 0; i < a.count; i += a.group, ++group) {
    uint8_t* y = a.y + 2 * i;
    Loop<Code>(Uniform(a.scale[group], a.zero[group]), a.x + i * Code::kBits / 8, y,
               std::min(a.group, a.count - i), prefetch_distance_of(a, y));
  }
}

/// One scale and zero point for each element.
template <class Code, Element kElement>
void PerElementKernel(const KernelArgs& a) {
  if (a.scale16 == nullptr)
    return fallback.at(kElement, Element::float16, ScaleLayout::per_element)(a);
  Loop<Code>(PerElement{a.scale16, a.zero16}, a.x, a.y, a.count, prefetch_distance_of(a, a.y));
}

/// Rows with the same scales and zero points, one for each element of a row. Scales that float16
/// cannot hold go to the fallback table's kernel for such rows or, if there is none, row by row to
/// its per_element kernel.
template <class Code, Element kElement>
void SharedRows(const KernelArgs& a) {
  const KernelFn shared = fallback.shared_at(kElement, Element::float16);
  if ((!a.finite_normal || !a.scales_of_y) && shared != nullptr) return shared(a);
  alignas(64) uint16_t scale[kTile + Helpers::kNarrowSlack];
  alignas(64) int16_t zero[kTile + Helpers::kNarrowSlack];
  for (size_t i = 0; i < a.count; i += kTile) {
    KernelArgs row = a;
    row.x += i * Code::kBits / 8;
    row.y += 2 * i;
    row.count = std::min(kTile, a.count - i);
    row.scale += i;
    row.zero += i;
    if (a.finite_normal && a.scales_of_y) {
      NarrowParams(row.scale, row.zero, row.count, scale, zero);
      row.scale16 = scale;
      row.zero16 = zero;
    }
    for (size_t r = 0; r < a.rows; ++r, row.x += a.x_row, row.y += a.y_row) {
      PerElementKernel<Code, kElement>(row);
    }
  }
}

/// Puts the kernels of an element into the table.
template <class Code, Element kElement>
void Fill(Table& table) {
  constexpr Element y = Element::float16;
  if constexpr (Code::kLongest > 0)
    table.at(kElement, y, ScaleLayout::per_group) = PerGroupKernel<Code, kElement>;
  table.at(kElement, y, ScaleLayout::per_element) = PerElementKernel<Code, kElement>;
  table.shared_at(kElement, y) = SharedRows<Code, kElement>;
  table.helpers.narrow_zeros[static_cast<size_t>(kElement)] = NarrowZeros<Code>;
}

}  // namespace
}  // namespace dequant
HWY_POP_ATTRIBUTES
HWY_DIAGNOSTICS(pop)

namespace dequant {

bool computes_float16() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1) != 0;
}

void fill_float16_kernels(Table& table) {
  fallback = table;
  table.helpers.narrow = NarrowParams;
  table.helpers.all_finite_normal16 = AllFiniteNormal;
  Fill<Integers<Bytes<false>>, Element::uint8>(table);
  Fill<Integers<Bytes<true>>, Element::int8>(table);
  Fill<Integers<Packed<4, false>>, Element::uint4>(table);
  Fill<Integers<Packed<4, true>>, Element::int4>(table);
  Fill<Integers<Packed<2, false>>, Element::uint2>(table);
  Fill<Integers<Packed<2, true>>, Element::int2>(table);
  Fill<Float8e5m2, Element::float8e5m2>(table);
  Fill<Float8e4m3fn, Element::float8e4m3fn>(table);
}

}  // namespace dequant

#else

namespace dequant {

bool computes_float16() noexcept { return false; }
void fill_float16_kernels(Table&) {}

}  // namespace dequant

#endif
