// Kernels to bfloat16 of 8- and 4-bit integers for processors with AVX512-BF16. A code put into the
// mantissa of 2^15 is a float without a conversion, and less 2^15 + zero point it is x - zero
// point, exactly. They are written with intrinsics because codes get there by byte permutations
// across the whole vector (VBMI), which Highway 1.0.3 does not have. Without this file, the same
// cells take, in the caches, 1.08 to 1.10 times as long per tensor, 1.08 to 1.12 times on the last
// axis, and 1.16 to 1.23 times with blocks on a middle axis. Short groups are as fast without it.
#include "kernel/targets.h"

#if defined(__x86_64__)

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
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512bf16")
namespace dequant {
namespace {

#include "kernel/two_cache_lines-inl.h"

/// The kernels of the processor without these.
constinit Table fallback;

/// Floats of a vector, and vectors of an unrolled step.
constexpr size_t kFloats = 16;
constexpr size_t kVectors = kUnroll / kFloats;
/// Parameters that are prepared at once.
constexpr size_t kTile = 4096;
/// 2^15, as a number and as a float.
constexpr int32_t kBase = 1 << 15;
constexpr int32_t kBaseBits = 0x47000000;

/// Code c of bias b stands for the number c - b: signed ones have their highest bit turned around
/// first.
template <int kWidth>
struct Codes {
  static_assert(kWidth == 8 || kWidth == 4, "a vector of codes of 4 bits is 64 bits from anywhere");
  static constexpr size_t kBits = kWidth;
  int32_t bias;  ///< 0, or half of the codes

  /// 2^15 + c of the codes of vector q of an unrolled step.
  HWY_INLINE __m512 Number(const uint8_t* x, size_t q) const {
    const __m512i base = _mm512_set1_epi32(kBaseBits);
    if constexpr (kWidth == 8) {
      alignas(64) static constexpr auto kPlace = [] {
        std::array<uint8_t, 64 * kVectors> place{};
        for (size_t i = 1; i < place.size(); i += 4) place[i] = static_cast<uint8_t>(i / 4);
        return place;
      }();
      const __m512i codes =
          _mm512_xor_si512(_mm512_loadu_si512(x), _mm512_set1_epi8(static_cast<int8_t>(bias)));
      const __m512i place = _mm512_load_si512(kPlace.data() + 64 * q);
      return _mm512_castsi512_ps(
          _mm512_mask_permutexvar_epi8(base, 0x2222222222222222, place, codes));
    } else {
      alignas(64) static constexpr auto kFrom = [] {
        std::array<uint8_t, 64> from{};
        for (size_t i = 1; i < from.size(); i += 4) from[i] = static_cast<uint8_t>(i / 4 * 4);
        return from;
      }();
      int64_t codes;
      std::memcpy(&codes, x + 8 * q, sizeof codes);
      const __m512i apart =
          _mm512_multishift_epi64_epi8(_mm512_load_si512(kFrom.data()), _mm512_set1_epi64(codes));
      const __m512i turned = _mm512_xor_si512(base, _mm512_set1_epi32(bias << 8));
      // (apart & 0xF00) ^ turned
      return _mm512_castsi512_ps(
          _mm512_ternarylogic_epi32(apart, _mm512_set1_epi32(0xF00), turned, 0x6A));
    }
  }
};

// Parameters: Scale(q) and Zero(q), 2^15 + bias + zero, of vector q of the next four.

/// One for all elements.
struct One {
  __m512 scale;
  __m512 zero;

  HWY_INLINE __m512 Scale(size_t) const { return scale; }
  HWY_INLINE __m512 Zero(size_t) const { return zero; }
  HWY_INLINE void Advance() {}
};

/// One for each element.
struct Each {
  const float* scale;
  const float* zero;

  HWY_INLINE __m512 Scale(size_t q) const { return _mm512_loadu_ps(scale + q * kFloats); }
  HWY_INLINE __m512 Zero(size_t q) const { return _mm512_loadu_ps(zero + q * kFloats); }
  HWY_INLINE void Advance() {
    scale += kUnroll;
    zero += kUnroll;
  }
};

template <class Code, class Params>
struct Product : Params {
  static constexpr size_t kBits = Code::kBits;
  struct Padding {};
  Code code;

  HWY_INLINE Product(const Params& params, const Code& c) : Params(params), code(c) {}
  HWY_INLINE void Results(const uint8_t* x, __m512i* lines) const {
    __m512 v[kVectors];
    for (size_t q = 0; q < kVectors; ++q) {
      v[q] = _mm512_mul_ps(_mm512_sub_ps(code.Number(x, q), this->Zero(q)), this->Scale(q));
    }
    for (size_t k = 0; k < 2; ++k) {
      lines[k] = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(v[2 * k + 1], v[2 * k]));
    }
  }
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// Parameters of a tile; what whole iterations read beyond them may be anything.
struct Tile {
  alignas(64) float scale[kTile + kUnroll];
  alignas(64) float zero[kTile + kUnroll];

  HWY_NOINLINE void Put(const float* s, const int32_t* z, size_t count, int32_t bias) {
    for (size_t i = 0; i < count; i += kFloats) {
      const auto here =
          static_cast<__mmask16>(count - i >= kFloats ? 0xFFFF : (1U << (count - i)) - 1);
      const __m512i zeros = _mm512_maskz_loadu_epi32(here, z + i);
      _mm512_store_ps(scale + i, _mm512_maskz_loadu_ps(here, s + i));
      _mm512_store_ps(zero + i,
                      _mm512_cvtepi32_ps(_mm512_add_epi32(zeros, _mm512_set1_epi32(kBase + bias))));
    }
  }
};

template <class Code, class Params>
HWY_INLINE void Loop(const Params& params, const Code& code, const uint8_t* x, uint8_t* y,
                     size_t count, size_t prefetch_distance) {
  TwoCacheLines(Product<Code, Params>(params, code), x, y, count, prefetch_distance);
}

/// Long groups of codes of 8 bits.
void LongGroups(const KernelArgs& a, int32_t bias) {
  for (size_t i = 0, group = 0; i < a.count; i += a.group, ++group) {
    const auto zero = static_cast<float>(kBase + bias + a.zero[group]);
    Loop(One{_mm512_set1_ps(a.scale[group]), _mm512_set1_ps(zero)}, Codes<8>{bias}, a.x + i,
         a.y + 2 * i, std::min(a.group, a.count - i), prefetch_distance_of(a, a.y + 2 * i));
  }
}

/// Rows that share a scale for each element.
template <int kWidth>
void RowsOfEach(const KernelArgs& a, int32_t bias) {
  Tile tile;
  for (size_t i = 0; i < a.count; i += kTile) {
    const size_t count = std::min(kTile, a.count - i);
    tile.Put(a.scale + i, a.zero + i, count, bias);
    const uint8_t* x = a.x + i * kWidth / 8;
    uint8_t* y = a.y + 2 * i;
    for (size_t r = 0; r < a.rows; ++r, x += a.x_row, y += a.y_row) {
      Loop(Each{tile.scale, tile.zero}, Codes<kWidth>{bias}, x, y, count,
           prefetch_distance_of(a, y));
    }
  }
}

template <Element kElement, int kWidth, int32_t kBias>
struct OfElement {
  static void PerGroup(const KernelArgs& a) {
    if (a.finite_normal && a.group >= std::min(a.count, kUnroll)) return LongGroups(a, kBias);
    fallback.at(kElement, Element::bfloat16, ScaleLayout::per_group)(a);
  }
  static void Shared(const KernelArgs& a) {
    if (a.finite_normal) return RowsOfEach<kWidth>(a, kBias);
    KernelArgs row = a;
    for (size_t r = 0; r < a.rows; ++r, row.x += a.x_row, row.y += a.y_row) {
      fallback.at(kElement, Element::bfloat16, ScaleLayout::per_element)(row);
    }
  }
  static void Fill(Table& table) {
    if (kWidth == 8) table.at(kElement, Element::bfloat16, ScaleLayout::per_group) = PerGroup;
    table.shared_at(kElement, Element::bfloat16) = Shared;
  }
};

}  // namespace
}  // namespace dequant
HWY_POP_ATTRIBUTES
HWY_DIAGNOSTICS(pop)

namespace dequant {

void fill_bfloat16_kernels(Table& table) {
  fallback = table;
  OfElement<Element::uint8, 8, 0>::Fill(table);
  OfElement<Element::int8, 8, 128>::Fill(table);
  OfElement<Element::uint4, 4, 0>::Fill(table);
  OfElement<Element::int4, 4, 8>::Fill(table);
}

}  // namespace dequant

#else

namespace dequant {

void fill_bfloat16_kernels(Table&) {}

}  // namespace dequant

#endif
