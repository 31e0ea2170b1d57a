// Results of 16 bits from tables of the results of all codes, for every target.
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

void Store(const V16* results, uint8_t* y, bool stream) {
  auto* out = reinterpret_cast<uint16_t*>(y);
  const D16Full d;
  for (size_t q = 0; q < kResults; ++q)
    StoreOrStream(results[q], d, out + q * hn::Lanes(d), stream);
}

template <class Codes>
void LookUp(const LookUpArgs& a) {
  const Codes codes;
  const size_t step = Step();
  const size_t bytes = step * Codes::kBits / 8;
  // Whole groups, or a step of two groups.
  const size_t run = HWY_MAX(HWY_MIN(a.group, a.count), step);
  const uint8_t* x = a.codes;
  const uint16_t* entries = a.tables;
  ResultTable tables[kHalves];
  for (size_t i = 0; i < a.count; i += run) {
    const size_t n = HWY_MIN(run, a.count - i);
    tables[0] = ResultTable::Load(entries);
    const bool two = kHalves == 2 && a.group < step && n > a.group;
    if constexpr (kHalves == 2) tables[1] = two ? ResultTable::Load(entries + kEntries) : tables[0];
    entries += two ? 2 * kEntries : kEntries;
    uint8_t* y = a.y + 2 * i;
    V16 results[kResults];
    size_t left = n;
    for (; left >= step; left -= step, x += bytes, y += 2 * step) {
      if (a.stream) hwy::Prefetch(x + kPrefetchDistanceX);
      codes.LookUp(x, tables, results);
      Store(results, y, a.stream);
    }
    if (left == 0) continue;
    alignas(64) uint8_t last[kMaxStep];
    alignas(64) uint8_t out[kMaxStep * 2];
    const size_t stored = (left * Codes::kBits + 7) / 8;
    copy_padded(x, stored, last, sizeof last);
    codes.LookUp(last, tables, results);
    Store(results, out, false);
    copy_bytes(out, 2 * left, y);
    x += stored;
  }
}

}  // namespace

void FillLookups(Table& table) {
  table.helpers.look_up_pairs = LookUp<PairCodes>;
  table.helpers.look_up_bytes = LookUp<ByteCodes>;
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
