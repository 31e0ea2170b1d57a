// Codes of 4 and 2 bits to 16-bit outputs. A scale has at most 16 different results: they are
// computed and rounded once, as all results are, and looked up from then on, so that an element
// costs neither a conversion nor a rounding. Finder knows where the codes of a group lie;
// ResultTable is what it searches.
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

/// Vectors of 16-bit results that a group of codes becomes.
constexpr size_t kResults = kStepVectors / 2;
/// Entries of a table, which 2-bit codes fill four times.
constexpr size_t kEntries = 16;

/// True where results are looked up as they are stored.
template <class In, class Out>
constexpr bool LooksUp() {
  return (In::kBits == 4 || In::kBits == 2) && sizeof(typename Out::T) == 2;
}

/// Results of the codes from `first` on.
template <class In>
HWY_INLINE VF ResultsFrom(const In& in, size_t first, VF scale, VI zero) {
  return hn::Mul(in.Differences(zero, first), scale);
}

/// Finite and normal results rounded to the words of an output.
template <class Out>
HWY_INLINE V16 Words16(VF low, VF high) {
  if constexpr (requires { Out::NarrowFiniteNormal(low, high); }) {
    return Out::NarrowFiniteNormal(low, high);
  } else {
    return Out::NarrowPair(low, high);
  }
}

/// Where the results of a block of kVectors vectors begin in a table, for an element of a group. 0:
/// there is one block.
template <int kBits, size_t kVectors>
constexpr size_t FirstEntry(size_t element) {
  return kVectors == 0 ? 0 : element / (kVectors * kMaxLanes) << kBits;
}

/// So many bytes at the start of each block of 128 bits.
template <size_t kBytes>
HWY_INLINE V8 Everywhere(const uint8_t* p) {
  if constexpr (kBytes == 16) {
    return hn::LoadDup128(D8Full(), p);
  } else {
    using T = std::conditional_t<kBytes == 8, uint64_t,
                                 std::conditional_t<kBytes == 4, uint32_t, uint16_t>>;
    return hn::BitCast(D8Full(), hn::Set(hn::ScalableTag<T>(), LoadAs<T>(p)));
  }
}

/// A value for each block of a group, for as many lanes as 2-bit codes have results.
template <size_t kBlocks, class D>
HWY_INLINE hn::Vec<D> ForBlocks(D d, const hn::TFromD<D>* values) {
  static constexpr auto kByte = [] {
    std::array<uint8_t, HWY_MAX_BYTES> byte{};
    for (size_t i = 0; i < byte.size(); ++i) {
      byte[i] = static_cast<uint8_t>(i / 16 % kBlocks * 4 + i % 4);
    }
    return byte;
  }();
  const V8 all = Everywhere<4 * kBlocks>(reinterpret_cast<const uint8_t*>(values));
  return hn::BitCast(d, hn::TableLookupBytes(all, hn::LoadU(D8Full(), kByte.data())));
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// The words of all results, one block's after the other's. One block of 4-bit codes fills half of
/// it.
struct ResultTable {
  V16 words;

  template <class Out, class In>
  static HWY_INLINE ResultTable Of(const In& in, VF scale, VI zero) {
    const VF results = ResultsFrom(in, 0, scale, zero);
    if constexpr (requires { Out::Narrow(results); }) {
      return {V16{_mm512_castsi256_si512(Out::Narrow(results).raw)}};
    } else {
      return {Words16<Out>(results, results)};
    }
  }
  /// Of two blocks of 4-bit codes.
  template <class Out, class In>
  static HWY_INLINE ResultTable OfTwo(const In& in, const float* scale, const int32_t* zero) {
    return {Words16<Out>(ResultsFrom(in, 0, hn::Set(DF(), scale[0]), hn::Set(DI(), zero[0])),
                         ResultsFrom(in, 0, hn::Set(DF(), scale[1]), hn::Set(DI(), zero[1])))};
  }
};

/// Blocks of a vector have no more elements than 4-bit codes have results.
template <class In, class Out, size_t kVectors>
constexpr bool LooksUpBlocks() {
  return LooksUp<In, Out>() && (kVectors == 2 || (kVectors == 1 && In::kBits == 2));
}

/// Tables of a group: one for all of its blocks, but where narrowing leaves the words of each apart
/// anyway.
template <class In, class Out, size_t kVectors>
constexpr size_t TablesOfStep() {
  if constexpr (requires(VF v) { Out::Narrow(v); })
    return In::kBits == 4 ? kStepVectors / kVectors : 1;
  return 1;
}

#if HWY_TARGET == HWY_AVX3_DL

/// An index for each byte of results: its code, where its block's results begin and whether it is
/// the upper byte.
template <int kBits, size_t kVectors = 0>
struct Finder {
  static_assert(kBits == 4 || kBits == 2, "tables have 16 entries, and no code crosses bytes");
  /// Eight bits from here on of its 64 are a byte's code, from the second bit of the index on.
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

  HWY_INLINE Finder()
      : from(hn::LoadU(D8Full(), kFrom.data())),
        mask(hn::Set(D8Full(), static_cast<uint8_t>(2 * ((1 << kBits) - 1)))) {
    for (size_t q = 0; q < kResults; ++q) first[q] = hn::LoadU(D8Full(), kFirst.data() + 64 * q);
  }

  template <size_t kTables>
  HWY_INLINE void Find(const uint8_t* p, const ResultTable (&tables)[kTables], V16* results) const {
    for (size_t q = 0; q < kResults; ++q) {
      const uint8_t* at = p + 4 * kBits * q;
      __m512i codes = _mm512_set1_epi64(LoadAs<int64_t>(at));
      // Half a vector of results has 64 bits of codes, or 32.
      if constexpr (kBits == 4) {
        codes = _mm512_mask_set1_epi64(codes, 0xF0, LoadAs<int64_t>(at + 8));
      }
      codes = _mm512_multishift_epi64_epi8(from.raw, codes);
      // (codes & mask) | first
      const __m512i index = _mm512_ternarylogic_epi64(codes, mask.raw, first[q].raw, 0xEA);
      results[q] = V16{_mm512_permutexvar_epi8(index, tables[q % kTables].words.raw)};
    }
  }
};

#else

/// An index for each result: its code and where its block's results begin.
template <int kBits, size_t kVectors = 0>
struct Finder {
  static_assert(kBits == 4 || kBits == 2, "tables have 16 entries, and no code crosses bytes");
  /// The byte of each code, widened to 16 bits, within each block of 128.
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

  HWY_INLINE Finder()
      : byte(hn::LoadU(D8Full(), kByte.data())),
        shift(hn::LoadU(D16Full(), kShift.data())),
        mask(hn::Set(D16Full(), (1 << kBits) - 1)) {
    for (size_t q = 0; q < kResults; ++q) first[q] = hn::LoadU(D16Full(), kFirst.data() + 32 * q);
  }

  template <size_t kTables>
  HWY_INLINE void Find(const uint8_t* p, const ResultTable (&tables)[kTables], V16* results) const {
    for (size_t q = 0; q < kResults; ++q) {
      const auto codes = hn::BitCast(
          D16Full(), hn::TableLookupBytesOr0(Everywhere<4 * kBits>(p + 4 * kBits * q), byte));
      const V16 index = hn::OrAnd(first[q], hn::Shr(codes, shift), mask);
      results[q] = V16{_mm512_permutexvar_epi16(index.raw, tables[q % kTables].words.raw)};
    }
  }
};

#endif

#else  // not AVX-512

/// Lower and upper bytes of the results, for each block of 128 bits.
struct ResultTable {
  V8 low;
  V8 high;

  HWY_INLINE ResultTable() {}
  HWY_INLINE ResultTable(V8 l, V8 h) : low(l), high(h) {}

  template <class Out, class In>
  static HWY_INLINE ResultTable Of(const In& in, VF scale, VI zero) {
    // Bytes of a block apart: eight lower ones, eight upper ones.
    static constexpr auto kApart = [] {
      std::array<uint8_t, HWY_MAX_BYTES> apart{};
      for (size_t i = 0; i < apart.size(); ++i)
        apart[i] = static_cast<uint8_t>(i % 16 / 8 + i % 8 * 2);
      return apart;
    }();
    constexpr size_t kCodes = size_t{1} << In::kBits;
    const auto apart = hn::LoadU(D8Full(), kApart.data());
    const hn::ScalableTag<uint64_t> d64;
    const size_t lanes = hn::Lanes(DF());
    hn::Vec<decltype(d64)> bytes[2];
    for (size_t i = 0; i < 2; ++i) {
      // Of 256 bits one vector holds all entries, and both are the same.
      const size_t first = 2 * i * lanes % kEntries;
      const V16 words = Words16<Out>(ResultsFrom(in, first % kCodes, scale, zero),
                                     ResultsFrom(in, (first + lanes) % kCodes, scale, zero));
      bytes[i] = hn::BitCast(d64, hn::TableLookupBytes(hn::BitCast(D8Full(), words), apart));
    }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    return {V8{_mm256_permute4x64_epi64(bytes[0].raw, 0x88)},
            V8{_mm256_permute4x64_epi64(bytes[0].raw, 0xDD)}};
#else
    return {hn::BitCast(D8Full(), hn::ConcatEven(d64, bytes[1], bytes[0])),
            hn::BitCast(D8Full(), hn::ConcatOdd(d64, bytes[1], bytes[0]))};
#endif
  }
};

/// Blocks of a group; of smaller ones those that share a table. Others cost what they save.
template <class In, class Out, size_t kVectors>
constexpr bool LooksUpBlocks() {
  return LooksUp<In, Out>() &&
         (kVectors == kStepVectors || (HWY_MAX_BYTES == 32 && kVectors == 2 && In::kBits == 2));
}

/// Tables of a group.
template <class In, class Out, size_t kVectors>
constexpr size_t TablesOfStep() {
  return 1;
}

/// An index for each result, a byte each. The lower and the upper half of each block of 128 bits
/// are where the results of two vectors come from.
template <int kBits, size_t kVectors = 0>
struct Finder {
  static_assert(kBits == 4 || kBits == 2, "tables have 16 entries, and no code crosses bytes");
  static constexpr size_t kBytes = HWY_MAX_BYTES;
  static constexpr size_t Element(size_t i) {
    return i % 16 / 8 * (kBytes / 2) + i / 16 * 8 + i % 8;
  }
  /// The byte of each code whose byte starts with it; zeros for the others.
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

  HWY_INLINE Finder()
      : byte(hn::LoadU(D8Full(), kByte.data())), mask(hn::Set(D8Full(), (1 << kBits) - 1)) {}

  /// The codes, and above each other bits.
  HWY_INLINE V8 Codes(const uint8_t* p) const {
    const V8 first = hn::TableLookupBytesOr0(Everywhere<kBytes * kBits / 8>(p), byte);
    if constexpr (kBits == 4) {
      const auto pair = hn::BitCast(D16Full(), first);
      return hn::BitCast(D8Full(), hn::Or(pair, hn::ShiftLeft<4>(pair)));
    } else {
      // Code k of four in byte k: 6 bits, then 12 further up.
      const auto one = hn::BitCast(DU(), first);
      const auto two = hn::Or(one, hn::ShiftLeft<6>(one));
      return hn::BitCast(D8Full(), hn::Or(two, hn::ShiftLeft<12>(two)));
    }
  }

  HWY_INLINE void Find(const uint8_t* p, const ResultTable (&tables)[1], V16* results) const {
    V8 index = hn::And(Codes(p), mask);
    if constexpr (kShared) index = hn::Or(index, hn::LoadU(D8Full(), kFirst.data()));
    const V8 low = hn::TableLookupBytes(tables->low, index);
    const V8 high = hn::TableLookupBytes(tables->high, index);
    results[0] = hn::BitCast(D16Full(), hn::InterleaveLower(D8Full(), low, high));
    results[1] = hn::BitCast(D16Full(), hn::InterleaveUpper(D8Full(), low, high));
  }
};

#endif

/// The results of all blocks of a group.
template <class Out, size_t kBlocks, class In>
HWY_INLINE ResultTable TableOfBlocks(const In& in, const float* scale, const int32_t* zero) {
  if constexpr (kBlocks == 1) {
    return ResultTable::Of<Out>(in, hn::Set(DF(), *scale), hn::Set(DI(), *zero));
  }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (In::kBits == 4) return ResultTable::OfTwo<Out>(in, scale, zero);
#endif
  return ResultTable::Of<Out>(in, ForBlocks<kBlocks>(DF(), scale), ForBlocks<kBlocks>(DI(), zero));
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
