// Long groups of 8- and 6-bit floats to 16-bit outputs. The results of one scale are computed and
// rounded once, as all results are, and put together from bytes from then on, so that an element
// costs neither a multiplication nor a rounding.
#include <array>
#include <cmath>
#include <type_traits>

#include "hwy/highway.h"
#include "kernel/decode_float-inl.h"
#include "kernel/decode_float6-inl.h"
#include "kernel/lookup-inl.h"
#include "kernel/narrow-inl.h"

#if defined(DEQUANT_FLOAT8_RESULTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_FLOAT8_RESULTS_INL_H_
#undef DEQUANT_FLOAT8_RESULTS_INL_H_
#else
#define DEQUANT_FLOAT8_RESULTS_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Results of `count` values, whole groups of them, at most 64.
template <class Out>
HWY_INLINE void RoundedResults(const float* values, size_t count, float scale, uint16_t* words) {
  const size_t lanes = hn::Lanes(DF());
  const auto s = hn::Set(DF(), scale);
  for (size_t i = 0; i < count; i += Step()) {
    VF v[kStepVectors];
    for (size_t q = 0; q < kStepVectors; ++q)
      v[q] = hn::Mul(hn::LoadU(DF(), values + i + q * lanes), s);
    Out::Store(v, reinterpret_cast<uint8_t*>(words + i), false);
  }
}

/// The lower bytes of the results of 64 values, then the upper ones.
template <class Out>
HWY_INLINE std::array<uint8_t, 128> SplitResults(const float* values, float scale) {
  const hn::FixedTag<uint8_t, 16> d;
  alignas(64) uint16_t words[64];
  RoundedResults<Out>(values, 64, scale, words);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  std::array<uint8_t, 128> out;
  for (size_t i = 0; i < 64; i += 16) {
    const auto first = hn::Load(d, bytes + 2 * i);
    const auto second = hn::Load(d, bytes + 2 * i + 16);
    hn::StoreU(hn::ConcatEven(d, second, first), d, out.data() + i);
    hn::StoreU(hn::ConcatOdd(d, second, first), d, out.data() + 64 + i);
  }
  return out;
}

/// A set of parameters for groups of at least kLong elements whose scale Fits().
template <class In, class Out>
struct LongGroup {
  static constexpr bool kExists = false;
};

#if HWY_TARGET == HWY_AVX3_DL

/// The bytes of all 256 results.
template <class Out>
requires(sizeof(typename Out::T) == 2) struct LongGroup<Float8Bytes, Out> {
  static constexpr bool kExists = true;
  static constexpr size_t kLong = 2048;
  using In = Float8Bytes;
  struct Padding {};
  In results;

  static HWY_INLINE bool Fits(const float*, float) { return true; }

  HWY_INLINE LongGroup(const float* lut, float scale) : results(Bytes(lut, scale).data(), kOrder) {}

  static HWY_INLINE std::array<uint8_t, 512> Bytes(const float* lut, float scale) {
    const D8Full d8;
    alignas(64) std::array<uint8_t, 512> bytes;
    for (size_t i = 0; i < 256; i += 64) {
      alignas(64) uint16_t words[64];
      RoundedResults<Out>(lut + i, 64, scale, words);
      const auto first = hn::Load(d8, reinterpret_cast<const uint8_t*>(words));
      const auto second = hn::Load(d8, reinterpret_cast<const uint8_t*>(words + 32));
      hn::StoreU(hn::ConcatEven(d8, second, first), d8, bytes.data() + i);
      hn::StoreU(hn::ConcatOdd(d8, second, first), d8, bytes.data() + 256 + i);
    }
    return bytes;
  }

  /// Of each block of 16 codes, eight become words of one vector, eight of the other.
  static constexpr auto kOrder = [] {
    std::array<uint8_t, 64> order{};
    for (size_t i = 0; i < order.size(); ++i) {
      order[i] = static_cast<uint8_t>(i % 16 / 8 * 32 + i / 16 * 8 + i % 8);
    }
    return order;
  }();

  HWY_INLINE void Results(const In&, const uint8_t* p, V16* words) const {
    results.Words(p, words);
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

#else

/// What DigitSums are of the values, of the results: a power of two more adds as much to the code
/// of a result as to that of a value, if all results are normal. Those of the first row need not
/// be: each of them has bytes of its own. float8e5m2 gains nothing: its infinities cost as much as
/// its multiplications.
template <class Out>
requires(sizeof(typename Out::T) == 2) struct LongGroup<Float8<false>, Out> {
  static constexpr bool kExists = true;
  static constexpr size_t kLong = 1024;
  static constexpr bool kToFloat16 = std::is_same_v<Out, ToFloat16>;
  using In = Float8<false>;
  struct Padding {};
  In results;

  static HWY_INLINE bool Fits(const float* lut, float scale) {
    const float size = std::abs(scale);
    if (!kToFloat16) return size <= 0x1p64F;
    // The last positive code may be NaN.
    return lut[16] * size >= 0x1p-14F && lut[0x7E] * size < 65520.0F &&
           !(lut[0x7F] * size >= 65520.0F);
  }

  HWY_INLINE LongGroup(const float* lut, float scale) : results(SumsOf(lut, scale)) {}

  static HWY_INLINE DigitSums SumsOf(const float* lut, float scale) {
    // The first two rows, then the first of each row, with both signs.
    alignas(64) float values[64] = {};
    alignas(64) uint16_t words[64];
    for (size_t i = 0; i < 32; ++i) values[i] = lut[i];
    for (size_t i = 0; i < 8; ++i) {
      values[32 + i] = lut[16 * i];
      values[40 + i] = -lut[16 * i];
    }
    RoundedResults<Out>(values, 64, scale, words);

    const hn::FixedTag<uint8_t, 16> d;
    const auto* bytes = reinterpret_cast<const uint8_t*>(words);
    const auto load = [&](size_t i) DEQUANT_ATTR { return hn::Load(d, bytes + 16 * i); };
    const auto low = hn::ConcatEven(d, load(3), load(2));
    const auto high = hn::ConcatOdd(d, load(3), load(2));
    const auto row = hn::Sub(hn::ConcatOdd(d, load(5), load(4)), hn::Set(d, bytes[33]));
    const auto first_low = hn::Sub(hn::ConcatEven(d, load(1), load(0)), low);
    const auto first_high = hn::Sub(hn::ConcatOdd(d, load(1), load(0)), high);
    const auto start = hn::Set(d, static_cast<uint8_t>(bytes[65] - bytes[33]));

    DigitSums sums = *digit_sums_behind(lut);
    hn::StoreU(low, d, sums.low.data());
    hn::StoreU(high, d, sums.high.data());
    hn::StoreU(row, d, sums.row.data());
    hn::StoreU(first_low, d, sums.first_low.data());
    hn::StoreU(hn::Sub(first_high, start), d, sums.first_high.data());
    return sums;
  }

  HWY_INLINE void Results(const In&, const uint8_t* p, V16* words) const {
    results.Words<kToFloat16 ? 0x7E00 : 0x7FC0>(In::Load(p, In::kWordOrder), words);
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

#endif

#if HWY_TARGET == HWY_AVX3_DL

/// The bytes of all 64 results.
template <class Out>
requires(sizeof(typename Out::T) == 2) struct LongGroup<Float6, Out> {
  static constexpr bool kExists = true;
  static constexpr size_t kLong = 512;
  using In = Float6;
  struct Padding {};
  static constexpr In::Order kOrder{LongGroup<Float8Bytes, Out>::kOrder};
  In results;

  static HWY_INLINE bool Fits(const float*, float) { return true; }

  HWY_INLINE LongGroup(const float* lut, float scale)
      : results(SplitResults<Out>(lut, scale).data(), kOrder) {}

  HWY_INLINE void Results(const In&, const uint8_t* p, V16* words) const {
    results.Words(p, words);
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

#else

/// The bytes of the results of both halves of the magnitudes. A sign turns that of the result
/// around.
template <class Out>
requires(sizeof(typename Out::T) == 2) struct LongGroup<Float6, Out> {
  static constexpr bool kExists = true;
  static constexpr size_t kLong = 512;
  using In = Float6;
  struct Padding {};
  In results;

  static HWY_INLINE bool Fits(const float*, float) { return true; }

  HWY_INLINE LongGroup(const float* lut, float scale) : LongGroup(SplitResults<Out>(lut, scale)) {}
  explicit HWY_INLINE LongGroup(const std::array<uint8_t, 128>& bytes)
      : results(bytes.data(), bytes.data() + 64) {}

  HWY_INLINE void Results(const In&, const uint8_t* p, V16* words) const {
    results.Words(In::Load<Float8<false>::kWordOrder>(p), words);
  }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

#endif

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
