// Parameters for long groups of 8-bit and 6-bit floats with 16-bit outputs. The results of all
// codes under the scale of a group are computed and rounded once, with the arithmetic of all
// kernels, and put into the tables of the decoder in place of the bfloat16 codes of the values.
// After that, an element costs no multiplication and no rounding.
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

/// words = narrow(fl32(value * scale)) for `count` values: whole steps, at most 64.
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

/// The lower bytes of the results of kValues values, then the upper bytes. D is the tag of the
/// vectors of bytes.
template <class Out, size_t kValues, class D>
HWY_INLINE std::array<uint8_t, 2 * kValues> SplitResults(const float* values, float scale) {
  const D d;
  const size_t lanes = hn::Lanes(d);
  alignas(64) std::array<uint8_t, 2 * kValues> split;
  for (size_t i = 0; i < kValues; i += 64) {
    alignas(64) uint16_t words[64];
    RoundedResults<Out>(values + i, 64, scale, words);
    const auto* bytes = reinterpret_cast<const uint8_t*>(words);
    for (size_t k = 0; k < 64; k += lanes) {
      const auto first = hn::Load(d, bytes + 2 * k);
      const auto second = hn::Load(d, bytes + 2 * k + lanes);
      hn::StoreU(hn::ConcatEven(d, second, first), d, split.data() + i + k);
      hn::StoreU(hn::ConcatOdd(d, second, first), d, split.data() + kValues + i + k);
    }
  }
  return split;
}

/// Parameters for groups of at least kLong elements whose scale Fits(). This one is for decoders
/// and outputs that have no such parameters.
template <class In, class Out>
struct LongGroup {
  static constexpr bool kExists = false;
};

/// What the parameters of all long groups share: one scale, so nothing to advance, and no arrays,
/// so nothing to pad.
template <class Decoder, size_t kLeastCount>
struct LongGroupOf {
  static constexpr bool kExists = true;
  static constexpr size_t kLong = kLeastCount;
  using In = Decoder;
  struct Padding {};
  In results;  ///< the decoder, with results in its tables in place of values

  template <class... Args>
  explicit HWY_INLINE LongGroupOf(const Args&... args) : results(args...) {}
  static HWY_INLINE bool Fits(const float*, float) { return true; }
  HWY_INLINE void Advance() {}
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

#if HWY_TARGET == HWY_AVX3_DL

/// The order of codes that Words() interleaves to the elements of a step in order: each of the two
/// vectors of words gets eight codes of each block of 16.
constexpr Float8Bytes::Order kWordOrder = [] {
  Float8Bytes::Order order{};
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<uint8_t>(i % 16 / 8 * 32 + i / 16 * 8 + i % 8);
  }
  return order;
}();

/// True for the decoders with tables of the lower and the upper bytes of all words.
template <class In, class Out>
constexpr bool kHasByteTables = sizeof(typename Out::T) == 2 &&
                                (std::is_same_v<In, Float8Bytes> || std::is_same_v<In, Float6>);

/// The bytes of the results of all 256 or 64 codes.
template <class In, class Out>
requires(kHasByteTables<In, Out>) struct LongGroup<In, Out>
    : LongGroupOf<In, In::kBits == 8 ? 2048 : 512> {
  using D = std::conditional_t<In::kBits == 8, D8Full, hn::FixedTag<uint8_t, 16>>;
  static constexpr typename In::Order kOrder{kWordOrder};

  HWY_INLINE LongGroup(const float* lut, float scale)
      : LongGroup::LongGroupOf(SplitResults<Out, 1 << In::kBits, D>(lut, scale).data(), kOrder) {}
  HWY_INLINE void Results(const In&, const uint8_t* p, V16* words) const {
    this->results.Words(p, words);
  }
};

#else

/// DigitSums of results. They exist like the DigitSums of values, if the results from the second
/// row of codes on are normal numbers of the output: from row to row the exponent of the result
/// grows by as much as the exponent of the value. Results of the first row may be subnormal, as
/// each has an entry of its own. float8e5m2 has no LongGroup: handling its infinities takes as long
/// as its multiplications.
template <class Out>
requires(sizeof(typename Out::T) == 2) struct LongGroup<Float8<false>, Out>
    : LongGroupOf<Float8<false>, 1024> {
  static constexpr bool kToFloat16 = std::is_same_v<Out, ToFloat16>;

  /// True if the results of codes of 16 and more are normal and finite in the output.
  static HWY_INLINE bool Fits(const float* lut, float scale) {
    const float size = std::abs(scale);
    if (!kToFloat16) return size <= 0x1p64F;
    // Code 0x7F can be NaN, which passes.
    return lut[16] * size >= 0x1p-14F && lut[0x7E] * size < 65520.0F &&
           !(lut[0x7F] * size >= 65520.0F);
  }

  HWY_INLINE LongGroup(const float* lut, float scale)
      : LongGroup::LongGroupOf(SumsOf(lut, scale)) {}

  static HWY_INLINE DigitSums SumsOf(const float* lut, float scale) {
    // The values of the first two rows, then of the first code of each row, then the negatives of
    // the latter.
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
};

/// The bytes of the results of all positive codes. Words() gives the result of a negative code the
/// other sign.
template <class Out>
requires(sizeof(typename Out::T) == 2) struct LongGroup<Float6, Out> : LongGroupOf<Float6, 512> {
  HWY_INLINE LongGroup(const float* lut, float scale)
      : LongGroup(SplitResults<Out, 64, hn::FixedTag<uint8_t, 16>>(lut, scale)) {}
  explicit HWY_INLINE LongGroup(const std::array<uint8_t, 128>& bytes)
      : LongGroup::LongGroupOf(bytes.data(), bytes.data() + 64) {}

  HWY_INLINE void Results(const In&, const uint8_t* p, V16* words) const {
    results.Words(In::Load<Float8<false>::kWordOrder>(p), words);
  }
};

#endif

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
