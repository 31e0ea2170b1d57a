// Table lookups for codes of 4 and 2 bits with 16-bit outputs. A scale and a zero point have at
// most 16 different results. The results are computed and rounded once, with the arithmetic of all
// kernels, and stored in a ResultTable. After that, an element costs no conversion and no rounding.
// ResultLookup turns the codes of a step into table indices.
#include <array>
#include <type_traits>

#include "hwy/highway.h"
#include "kernel/decode_packed-inl.h"
#include "kernel/narrow-inl.h"

#if defined(DEQUANT_LOOKUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_LOOKUP_INL_H_
#undef DEQUANT_LOOKUP_INL_H_
#else
#define DEQUANT_LOOKUP_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

using V16 = hn::Vec<D16Full>;
using D8Full = hn::ScalableTag<uint8_t>;
using V8 = hn::Vec<D8Full>;

/// Vectors of 16-bit results in a step.
constexpr size_t kResults = kStepVectors / 2;
/// Entries of a table. The results of 2-bit codes fill it four times.
constexpr size_t kEntries = 16;

/// Stores the 16-bit results of a step.
HWY_INLINE void StoreResults(const V16* results, uint8_t* y, bool stream) {
  auto* out = reinterpret_cast<uint16_t*>(y);
  const size_t lanes = hn::Lanes(D16Full());
  for (size_t q = 0; q < kResults; ++q)
    StoreOrStream(results[q], D16Full(), out + q * lanes, stream);
}

#if DEQUANT_LANE_SHIFTS

/// Sixteen float32, which vectors hold.
struct FloatTable {
#if HWY_TARGET <= HWY_AVX3
  VF all;

  HWY_INLINE FloatTable() {}
  explicit HWY_INLINE FloatTable(const float* p) : all(hn::LoadU(DF(), p)) {}
  /// The entries that the lowest four bits of each index select.
  HWY_INLINE VF At(VU index) const { return Lookup(all, index); }
#else
  VF low;
  VF high;

  HWY_INLINE FloatTable() {}
  explicit HWY_INLINE FloatTable(const float* p)
      : low(hn::LoadU(DF(), p)), high(hn::LoadU(DF(), p + 8)) {}
  HWY_INLINE VF At(VU index) const {
    const VF top = hn::BitCast(DF(), hn::ShiftLeft<28>(index));  // bit 3 as the sign
    return hn::IfNegativeThenElse(top, Lookup(high, index), Lookup(low, index));
  }
#endif
};

#endif  // DEQUANT_LANE_SHIFTS

/// True for decoders and outputs whose rounded results can be looked up.
template <class In, class Out>
constexpr bool LooksUp() {
  return (In::kBits == 4 || In::kBits == 2) && sizeof(typename Out::T) == 2;
}

/// fl32(fl32(x - zero) * scale), before rounding to the output, of the codes x from `first` on.
template <class In>
HWY_INLINE VF ResultsFrom(const In& in, size_t first, VF scale, VI zero) {
  return hn::Mul(in.Differences(zero, first), scale);
}

/// Rounds results that are not subnormal to the 16-bit words of an output.
template <class Out>
HWY_INLINE V16 Words16(VF low, VF high) {
  if constexpr (requires { Out::NarrowFiniteNormal(low, high); }) {
    return Out::NarrowFiniteNormal(low, high);
  } else {
    return Out::NarrowPair(low, high);
  }
}

/// The index in a table of the first result for the group of an element. `element` is the element's
/// index in the step. The table has the results of several groups of kVectors vectors, or, for
/// kVectors = 0, of one group.
template <int kBits, size_t kVectors>
constexpr size_t FirstEntry(size_t element) {
  return kVectors == 0 ? 0 : element / (kVectors * kMaxLanes) << kBits;
}

/// The kBytes bytes at p, repeated from the start of each 128-bit block.
template <size_t kBytes>
HWY_INLINE V8 BroadcastBytes(const uint8_t* p) {
  if constexpr (kBytes == 16) {
    return hn::LoadDup128(D8Full(), p);
  } else {
    using T = std::conditional_t<kBytes == 8, uint64_t,
                                 std::conditional_t<kBytes == 4, uint32_t, uint16_t>>;
    return hn::BitCast(D8Full(), hn::Set(hn::ScalableTag<T>(), LoadAs<T>(p)));
  }
}

/// 128-bit blocks of which block i has values[i % kGroups], the value of a group, in all four
/// lanes: one lane for each code of 2 bits.
template <size_t kGroups, class D>
HWY_INLINE hn::Vec<D> SpreadGroups(D d, const hn::TFromD<D>* values) {
  static constexpr auto kByte = [] {
    std::array<uint8_t, HWY_MAX_BYTES> byte{};
    for (size_t i = 0; i < byte.size(); ++i) {
      byte[i] = static_cast<uint8_t>(i / 16 % kGroups * 4 + i % 4);
    }
    return byte;
  }();
  const V8 all = BroadcastBytes<4 * kGroups>(reinterpret_cast<const uint8_t*>(values));
  return hn::BitCast(d, hn::TableLookupBytes(all, hn::LoadU(D8Full(), kByte.data())));
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// The 16-bit results of all codes, one group after another. One group of 4-bit codes fills half of
/// the vector.
struct ResultTable {
  V16 words;

  /// The table of 16 results.
  static HWY_INLINE ResultTable Load(const uint16_t* results) {
    const auto* p = reinterpret_cast<const __m256i*>(results);
    return {V16{_mm512_castsi256_si512(_mm256_loadu_si256(p))}};
  }
  template <class Out, class In>
  static HWY_INLINE ResultTable Of(const In& in, VF scale, VI zero) {
    const VF results = ResultsFrom(in, 0, scale, zero);
    if constexpr (requires { Out::Narrow(results); }) {
      return {V16{_mm512_castsi256_si512(Out::Narrow(results).raw)}};
    } else {
      return {Words16<Out>(results, results)};
    }
  }
  /// The results of two groups of 4-bit codes.
  template <class Out, class In>
  static HWY_INLINE ResultTable OfTwo(const In& in, const float* scale, const int32_t* zero) {
    return {Words16<Out>(ResultsFrom(in, 0, hn::Set(DF(), scale[0]), hn::Set(DI(), zero[0])),
                         ResultsFrom(in, 0, hn::Set(DF(), scale[1]), hn::Set(DI(), zero[1])))};
  }
};

/// True if a lookup is faster than arithmetic for groups of kVectors vectors. A group of one vector
/// has 16 elements, so computing the 16 results of 4-bit codes saves nothing.
template <class In, class Out, size_t kVectors>
constexpr bool LooksUpBlocks() {
  return LooksUp<In, Out>() && (kVectors == 2 || (kVectors == 1 && In::kBits == 2));
}

/// Tables for a step: one with the results of all its groups, or one for each group of 4-bit codes
/// where the output narrows each vector alone, so that joining the results would cost more.
template <class In, class Out, size_t kVectors>
constexpr size_t TablesOfStep() {
  if constexpr (requires(VF v) { Out::Narrow(v); })
    return In::kBits == 4 ? kStepVectors / kVectors : 1;
  return 1;
}

#if HWY_TARGET == HWY_AVX3_DL

/// Computes a byte index for each byte of a result: twice the code, plus twice the first entry of
/// the group, plus one for the upper byte.
template <int kBits, size_t kVectors = 0>
struct ResultLookup {
  static_assert(kBits == 4 || kBits == 2, "tables have 16 entries, and no code crosses bytes");
  /// For each byte of the index, the first of the eight bits that multishift takes from the 64 bits
  /// of codes: one bit before the code, so that the code starts at bit 1 of the byte.
  static constexpr auto kFrom = [] {
    std::array<uint8_t, 64> from{};
    for (size_t i = 0; i < 64; ++i) from[i] = static_cast<uint8_t>((i / 2 * kBits + 63) % 64);
    return from;
  }();
  static constexpr auto kFirst = [] {
    std::array<uint8_t, kResults * 64> first{};
    for (size_t i = 0; i < first.size(); ++i) {
      first[i] = static_cast<uint8_t>(2 * FirstEntry<kBits, kVectors>(i / 2) + i % 2);
    }
    return first;
  }();
  V8 from;
  V8 mask;
  V8 first[kResults];

  HWY_INLINE ResultLookup()
      : from(hn::LoadU(D8Full(), kFrom.data())),
        mask(hn::Set(D8Full(), static_cast<uint8_t>(2 * ((1 << kBits) - 1)))) {
    for (size_t q = 0; q < kResults; ++q) first[q] = hn::LoadU(D8Full(), kFirst.data() + 64 * q);
  }

  template <size_t kTables>
  HWY_INLINE void LookUp(const uint8_t* p, const ResultTable (&tables)[kTables],
                         V16* results) const {
    for (size_t q = 0; q < kResults; ++q) {
      const uint8_t* packed = p + 4 * kBits * q;
      __m512i codes = _mm512_set1_epi64(LoadAs<int64_t>(packed));
      // A vector of 32 results has 64 bits of 2-bit codes, or 128 bits of 4-bit codes.
      if constexpr (kBits == 4) {
        codes = _mm512_mask_set1_epi64(codes, 0xF0, LoadAs<int64_t>(packed + 8));
      }
      codes = _mm512_multishift_epi64_epi8(from.raw, codes);
      // (codes & mask) | first
      const __m512i index = _mm512_ternarylogic_epi64(codes, mask.raw, first[q].raw, 0xEA);
      results[q] = V16{_mm512_permutexvar_epi8(index, tables[q % kTables].words.raw)};
    }
  }
};

#else

/// Computes an index for each result: the code plus the first entry of the group.
template <int kBits, size_t kVectors = 0>
struct ResultLookup {
  static_assert(kBits == 4 || kBits == 2, "tables have 16 entries, and no code crosses bytes");
  /// For each 16-bit lane, the byte that holds its code, in the lower byte; zero in the upper byte.
  static constexpr auto kByte = [] {
    std::array<uint8_t, 64> byte{};
    for (size_t i = 0; i < 64; ++i) {
      byte[i] = i % 2 != 0 ? 0x80 : static_cast<uint8_t>(i / 2 * kBits / 8);
    }
    return byte;
  }();
  static constexpr auto kShift = [] {
    std::array<uint16_t, 32> shift{};
    for (size_t i = 0; i < 32; ++i) shift[i] = static_cast<uint16_t>(i * kBits % 8);
    return shift;
  }();
  static constexpr auto kFirst = [] {
    std::array<uint16_t, kResults * 32> first{};
    for (size_t i = 0; i < first.size(); ++i) {
      first[i] = static_cast<uint16_t>(FirstEntry<kBits, kVectors>(i));
    }
    return first;
  }();
  V8 byte;
  V16 shift;
  V16 mask;
  V16 first[kResults];

  HWY_INLINE ResultLookup()
      : byte(hn::LoadU(D8Full(), kByte.data())),
        shift(hn::LoadU(D16Full(), kShift.data())),
        mask(hn::Set(D16Full(), (1 << kBits) - 1)) {
    for (size_t q = 0; q < kResults; ++q) first[q] = hn::LoadU(D16Full(), kFirst.data() + 32 * q);
  }

  template <size_t kTables>
  HWY_INLINE void LookUp(const uint8_t* p, const ResultTable (&tables)[kTables],
                         V16* results) const {
    for (size_t q = 0; q < kResults; ++q) {
      const auto codes = hn::BitCast(
          D16Full(), hn::TableLookupBytesOr0(BroadcastBytes<4 * kBits>(p + 4 * kBits * q), byte));
      const V16 index = hn::OrAnd(first[q], hn::Shr(codes, shift), mask);
      results[q] = V16{_mm512_permutexvar_epi16(index.raw, tables[q % kTables].words.raw)};
    }
  }
};

#endif

#else  // not AVX-512

/// The lower and the upper bytes of 16 results, both repeated in each 128-bit block.
struct ResultTable {
  V8 low;
  V8 high;

  HWY_INLINE ResultTable() {}
  HWY_INLINE ResultTable(V8 l, V8 h) : low(l), high(h) {}

  /// The table of the results of `words(0)` and `words(8)`: a vector of 16 entries or more from
  /// that entry on, counted modulo 16.
  template <class Words>
  static HWY_INLINE ResultTable From(const Words& words) {
    // A shuffle of each 128-bit block of words: the eight lower bytes, then the eight upper bytes.
    static constexpr auto kApart = [] {
      std::array<uint8_t, HWY_MAX_BYTES> apart{};
      for (size_t i = 0; i < apart.size(); ++i)
        apart[i] = static_cast<uint8_t>(i % 16 / 8 + i % 8 * 2);
      return apart;
    }();
    const auto apart = hn::LoadU(D8Full(), kApart.data());
    const hn::ScalableTag<uint64_t> d64;
    hn::Vec<decltype(d64)> bytes[2];
    for (size_t i = 0; i < 2; ++i) {
      // A vector of 256 bits holds all 16 entries, so bytes[0] and bytes[1] are equal there.
      const V16 from = words(i * hn::Lanes(D16Full()) % kEntries);
      bytes[i] = hn::BitCast(d64, hn::TableLookupBytes(hn::BitCast(D8Full(), from), apart));
    }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return {V8{_mm256_permute4x64_epi64(bytes[0].raw, 0x88)},
            V8{_mm256_permute4x64_epi64(bytes[0].raw, 0xDD)}};
#else
    return {hn::BitCast(D8Full(), hn::ConcatEven(d64, bytes[1], bytes[0])),
            hn::BitCast(D8Full(), hn::ConcatOdd(d64, bytes[1], bytes[0]))};
#endif
  }
  /// The table of 16 results.
  static HWY_INLINE ResultTable Load(const uint16_t* results) {
    return From([results](size_t first)
                    DEQUANT_ATTR { return hn::LoadU(D16Full(), results + first); });
  }
  template <class Out, class In>
  static HWY_INLINE ResultTable Of(const In& in, VF scale, VI zero) {
    constexpr size_t kCodes = size_t{1} << In::kBits;
    return From([&](size_t first) DEQUANT_ATTR {
      return Words16<Out>(ResultsFrom(in, first % kCodes, scale, zero),
                          ResultsFrom(in, (first + hn::Lanes(DF())) % kCodes, scale, zero));
    });
  }

  /// The results of a step, by one index of a byte for each. The lower half of each 128-bit block
  /// of indices is for the first vector of results, the upper half for the second: the interleaving
  /// of lower and upper result bytes then yields the two vectors in order.
  HWY_INLINE void LookUp(V8 index, V16* results) const {
    const V8 l = hn::TableLookupBytes(low, index);
    const V8 h = hn::TableLookupBytes(high, index);
    results[0] = hn::BitCast(D16Full(), hn::InterleaveLower(D8Full(), l, h));
    results[1] = hn::BitCast(D16Full(), hn::InterleaveUpper(D8Full(), l, h));
  }
};

/// True if a lookup is faster than arithmetic for groups of kVectors vectors: for groups of a whole
/// step, and for shorter groups of 2-bit codes whose results share one table. For all other groups
/// making the tables costs as much as the lookups save.
template <class In, class Out, size_t kVectors>
constexpr bool LooksUpBlocks() {
  return LooksUp<In, Out>() &&
         (kVectors == kStepVectors || (HWY_MAX_BYTES == 32 && kVectors == 2 && In::kBits == 2));
}

/// Tables for a step.
template <class In, class Out, size_t kVectors>
constexpr size_t TablesOfStep() {
  return 1;
}

/// Computes the indices of ResultTable::LookUp().
template <int kBits, size_t kVectors = 0>
struct ResultLookup {
  static_assert(kBits == 4 || kBits == 2, "tables have 16 entries, and no code crosses bytes");
  static constexpr size_t kBytes = HWY_MAX_BYTES;
  /// The element, by its index in the step, of byte i of the indices.
  static constexpr size_t Element(size_t i) {
    return i % 16 / 8 * (kBytes / 2) + i / 16 * 8 + i % 8;
  }
  /// For each code at the start of a byte, the index of that byte; 0x80, which looks up zero, for
  /// all other codes.
  static constexpr auto kByte = [] {
    std::array<uint8_t, kBytes> byte{};
    for (size_t i = 0; i < kBytes; ++i) {
      const size_t bit = Element(i) * kBits;
      byte[i] = bit % 8 == 0 ? static_cast<uint8_t>(bit / 8) : 0x80;
    }
    return byte;
  }();
  static constexpr bool kShared = FirstEntry<kBits, kVectors>(kStepVectors * kMaxLanes - 1) != 0;
  static constexpr auto kFirst = [] {
    std::array<uint8_t, kBytes> first{};
    for (size_t i = 0; i < kBytes; ++i) {
      first[i] = static_cast<uint8_t>(FirstEntry<kBits, kVectors>(Element(i)));
    }
    return first;
  }();
  V8 byte;
  V8 mask;

  HWY_INLINE ResultLookup()
      : byte(hn::LoadU(D8Full(), kByte.data())), mask(hn::Set(D8Full(), (1 << kBits) - 1)) {}

  /// One byte for each element: the code in the lowest bits, anything in the bits above.
  HWY_INLINE V8 Codes(const uint8_t* p) const {
    const V8 first = hn::TableLookupBytesOr0(BroadcastBytes<kBytes * kBits / 8>(p), byte);
    if constexpr (kBits == 4) {
      const auto pair = hn::BitCast(D16Full(), first);
      return hn::BitCast(D8Full(), hn::Or(pair, hn::ShiftLeft<4>(pair)));
    } else {
      // Moves code k of a byte to byte k of four: code 1 by 6 bits, code 2 by 12, code 3 by 18.
      const auto one = hn::BitCast(DU(), first);
      const auto two = hn::Or(one, hn::ShiftLeft<6>(one));
      return hn::BitCast(D8Full(), hn::Or(two, hn::ShiftLeft<12>(two)));
    }
  }

  HWY_INLINE void LookUp(const uint8_t* p, const ResultTable (&tables)[1], V16* results) const {
    V8 index = hn::And(Codes(p), mask);
    if constexpr (kShared) index = hn::Or(index, hn::LoadU(D8Full(), kFirst.data()));
    tables->LookUp(index, results);
  }
};

#endif

/// The table of kGroups groups.
template <class Out, size_t kGroups, class In>
HWY_INLINE ResultTable TableOfGroups(const In& in, const float* scale, const int32_t* zero) {
  if constexpr (kGroups == 1) {
    return ResultTable::Of<Out>(in, hn::Set(DF(), *scale), hn::Set(DI(), *zero));
  }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (In::kBits == 4) return ResultTable::OfTwo<Out>(in, scale, zero);
#endif
  return ResultTable::Of<Out>(in, SpreadGroups<kGroups>(DF(), scale),
                              SpreadGroups<kGroups>(DI(), zero));
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
