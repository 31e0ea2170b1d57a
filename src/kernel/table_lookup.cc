// Results from tables of the results of all codes, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_lookup.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/lookup-inl.h"
#include "kernel/special_values.h"

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

/// Groups that may share a step: where a step has 64 elements, each half has a table.
constexpr size_t kHalves = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3 ? 2 : 1;

/// Codes of four bits, two in a byte.
struct PairCodes : ResultLookup<4> {
  static constexpr size_t kBits = 4;

  HWY_INLINE PairCodes() {}  // an implicit constructor is not compiled for the target
};

/// Codes in the low four bits of bytes, whose other bits are 0.
struct ByteCodes {
  static constexpr size_t kBits = 8;

  HWY_INLINE void LookUp(const uint8_t* p, const ResultTable (&tables)[kHalves],
                         V16* results) const {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    const hn::Rebind<uint8_t, D16Full> half;
    for (size_t q = 0; q < kResults; ++q) {
      const V16 index = hn::PromoteTo(D16Full(), hn::LoadU(half, p + q * hn::Lanes(half)));
      results[q] = V16{_mm512_permutexvar_epi16(index.raw, tables[q % kHalves].words.raw)};
    }
#else
    V8 index = hn::LoadU(D8Full(), p);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
    index = V8{_mm256_permute4x64_epi64(index.raw, 0xD8)};
#endif
    tables->LookUp(index, results);
#endif
  }
};

/// Results of 16 bits.
template <class Codes>
struct WordResults : Codes {
  static constexpr size_t kBytes = 2;
  ResultTable tables[kHalves];

  HWY_INLINE WordResults() {}
  HWY_INLINE void Load(size_t half, const uint8_t* entries) {
    tables[half] = ResultTable::Load(reinterpret_cast<const uint16_t*>(entries));
  }
  HWY_INLINE void Step(const uint8_t* x, uint8_t* y, bool stream) const {
    V16 results[kResults];
    this->LookUp(x, tables, results);
    StoreResults(results, y, stream);
  }
};

#if DEQUANT_LANE_SHIFTS

/// Bytes below 16 as indices.
struct ByteIndices {
  static constexpr int kBits = 8;

  HWY_INLINE ByteIndices() {}
  HWY_INLINE void Index(const uint8_t* p, VU* index) const {
    const hn::Rebind<uint8_t, DU> bytes;
    for (size_t q = 0; q < kStepVectors; ++q) {
      index[q] = hn::PromoteTo(DU(), hn::LoadU(bytes, p + q * hn::Lanes(bytes)));
    }
  }
};

/// float32 results.
template <class Codes>
struct FloatResults : Codes {
  static constexpr size_t kBytes = 4;
  FloatTable tables[kHalves];

  HWY_INLINE FloatResults() {}
  HWY_INLINE void Load(size_t half, const uint8_t* entries) {
    tables[half] = FloatTable(reinterpret_cast<const float*>(entries));
  }
  HWY_INLINE void Step(const uint8_t* x, uint8_t* y, bool stream) const {
    VU index[kStepVectors];
    this->Index(x, index);
    VF v[kStepVectors];
    for (size_t q = 0; q < kStepVectors; ++q) {
      v[q] = tables[q * kHalves / kStepVectors].At(index[q]);
    }
    ToFloat32::Store(v, y, stream);
  }
};

#endif

template <class Results>
void LookUp(const LookUpArgs& a) {
  constexpr size_t kTableBytes = kEntries * Results::kBytes;
  Results results;
  const size_t step = Step();
  const size_t bytes = step * Results::kBits / 8;
  // Whole groups, or a step of two groups.
  const size_t run = HWY_MAX(HWY_MIN(a.group, a.count), step);
  const uint8_t* x = a.codes;
  const uint8_t* entries = a.tables;
  for (size_t i = 0; i < a.count; i += run) {
    const size_t n = HWY_MIN(run, a.count - i);
    const bool two = kHalves == 2 && a.group < step && n > a.group;
    results.Load(0, entries);
    if constexpr (kHalves == 2) results.Load(1, entries + (two ? kTableBytes : 0));
    entries += two ? 2 * kTableBytes : kTableBytes;
    uint8_t* y = a.y + i * Results::kBytes;
    size_t left = n;
    for (; left >= step; left -= step, x += bytes, y += step * Results::kBytes) {
      if (a.stream) hwy::Prefetch(x + kPrefetchDistanceX);
      results.Step(x, y, a.stream);
    }
    if (left == 0) continue;
    alignas(64) uint8_t last[kMaxStep];
    alignas(64) uint8_t out[kMaxStep * Results::kBytes];
    const size_t stored = (left * Results::kBits + 7) / 8;
    copy_padded(x, stored, last, sizeof last);
    results.Step(last, out, false);
    copy_bytes(out, left * Results::kBytes, y);
    x += stored;
  }
}

}  // namespace

void FillLookups(Table& table) {
  table.helpers.look_up_words = {LookUp<WordResults<PairCodes>>, LookUp<WordResults<ByteCodes>>};
#if DEQUANT_LANE_SHIFTS
  table.helpers.look_up_floats = {LookUp<FloatResults<Nibbles>>, LookUp<FloatResults<ByteIndices>>};
#endif
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
namespace dequant::HWY_NAMESPACE {
void FillLookups(Table&) {}
}  // namespace dequant::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace dequant {
void fill_lookups(int64_t target, Table& table) { DEQUANT_FILL(target, FillLookups, table); }
}  // namespace dequant
#endif
