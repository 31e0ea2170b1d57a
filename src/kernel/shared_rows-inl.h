// Many rows of 2-bit codes that share their parameters, to 16-bit outputs. An element of such a row
// has four possible results: they are computed and rounded once for all rows, by the arithmetic
// that all elements get, and take as much room as the scale and the zero point they replace. A bit
// of a code halves the choice.
#include "hwy/highway.h"
#include "kernel/kernel-inl.h"

#if defined(DEQUANT_SHARED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_SHARED_ROWS_INL_H_
#undef DEQUANT_SHARED_ROWS_INL_H_
#else
#define DEQUANT_SHARED_ROWS_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Results of an element.
constexpr size_t kChoices = 4;
/// Elements whose results stay in the nearest cache.
constexpr size_t kSharedTile = 2048;

/// Four vectors of results for each vector of elements: those of code 0, of code 1 and so on.
struct Choices {
  struct Padding {};
  static constexpr size_t kCodesOfVector = 2 * HWY_MAX_BYTES / 16;
  /// The byte of each code within a block of 128 bits, and its lower bit in there.
  static constexpr auto kByte = [] {
    std::array<uint8_t, HWY_MAX_BYTES> byte{};
    for (size_t i = 0; i < byte.size(); ++i) byte[i] = static_cast<uint8_t>(i / 8);
    return byte;
  }();
  static constexpr auto kBit = [] {
    std::array<uint16_t, HWY_MAX_BYTES / 2> bit{};
    for (size_t i = 0; i < bit.size(); ++i) bit[i] = static_cast<uint16_t>(1 << i % 4 * 2);
    return bit;
  }();
  const uint16_t* words;
  V8 byte;
  V16 lower;
  V16 upper;

  explicit HWY_INLINE Choices(const uint16_t* w)
      : words(w),
        byte(hn::LoadU(D8Full(), kByte.data())),
        lower(hn::LoadU(D16Full(), kBit.data())),
        upper(hn::Add(lower, lower)) {}

  template <class In>
  HWY_INLINE void Results(const In&, const uint8_t* p, V16* results) const {
    const D16Full d;
    const size_t lanes = hn::Lanes(d);
    for (size_t q = 0; q < kResults; ++q) {
      const auto spread =
          hn::TableLookupBytes(BroadcastBytes<kCodesOfVector>(p + q * kCodesOfVector), byte);
      const auto codes = hn::BitCast(d, spread);
      const auto odd = hn::TestBit(codes, lower);
      const uint16_t* of = words + q * kChoices * lanes;
      const auto low = hn::IfThenElse(odd, hn::Load(d, of + lanes), hn::Load(d, of));
      const auto high =
          hn::IfThenElse(odd, hn::Load(d, of + 3 * lanes), hn::Load(d, of + 2 * lanes));
      results[q] = hn::IfThenElse(hn::TestBit(codes, upper), high, low);
    }
  }
  HWY_INLINE void Advance() { words += kChoices * Step(); }
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// The results of whole vectors of elements, `numbers` being those of codes.
template <class Out>
HWY_NOINLINE void PutChoices(const float* scale, const int32_t* zero, size_t count,
                             const int32_t* numbers, uint16_t* words) {
  const size_t half = hn::Lanes(DF());
  for (size_t i = 0; i < count; i += 2 * half) {
    for (size_t code = 0; code < kChoices; ++code) {
      const auto of = [&](size_t at) DEQUANT_ATTR {
        const VI x = hn::Set(DI(), numbers[code]);
        return hn::Mul(SmallDifference(x, hn::LoadU(DI(), zero + at)), hn::LoadU(DF(), scale + at));
      };
      hn::Store(Words16<Out>(of(i), of(i + half)), D16Full(), words);
      words += 2 * half;
    }
  }
}

/// Results that were made before, whatever their type.
struct Found {
  using T = uint16_t;
};
inline HWY_NOINLINE void FindRow(const uint16_t* words, const uint8_t* x, uint8_t* y, size_t count,
                                 size_t prefetch_distance) {
  Loop<Found>(Pairs(), Choices(words), x, y, count, prefetch_distance);
}

/// How rows become results: a tile of them for all rows, or row by row.
struct ByType {
  void (*put)(const float*, const int32_t*, size_t, const int32_t*, uint16_t*);
  KernelFn per_element;
  const int32_t* numbers;
};

inline HWY_NOINLINE void FindRows(const KernelArgs& a, const ByType& type) {
  if (HWY_UNLIKELY(!a.finite_normal)) {
    KernelArgs row = a;
    for (size_t r = 0; r < a.rows; ++r, row.x += a.x_row, row.y += a.y_row) type.per_element(row);
    return;
  }
  constexpr size_t kTurns = 2 * kMaxStep;
  alignas(64) uint16_t words[kChoices * kSharedTile];
  for (size_t i = 0; i < a.count; i += kSharedTile) {
    const size_t count = HWY_MIN(kSharedTile, a.count - i);
    const size_t whole = count / kTurns * kTurns;
    type.put(a.scale + i, a.zero + i, whole, type.numbers, words);
    if (whole != count) {
      alignas(64) float scale[kTurns];
      alignas(64) int32_t zero[kTurns];
      copy_padded(a.scale + i + whole, (count - whole) * sizeof *scale, scale, sizeof scale);
      copy_padded(a.zero + i + whole, (count - whole) * sizeof *zero, zero, sizeof zero);
      type.put(scale, zero, kTurns, type.numbers, words + kChoices * whole);
    }
    const uint8_t* x = a.x + i * Pairs::kBits / 8;
    uint8_t* y = a.y + i * sizeof(Found::T);
    for (size_t r = 0; r < a.rows; ++r, x += a.x_row, y += a.y_row) {
      FindRow(words, x, y, count, prefetch_distance_of(a, y));
    }
  }
}

/// A scale for each element, the same in all rows.
template <class In, class Out>
void SharedRows(const KernelArgs& a) {
  static constexpr int32_t kNumbers[2][kChoices] = {{0, 1, 2, 3}, {0, 1, -2, -1}};
  FindRows(a, {PutChoices<Out>, PerElementKernel<In, Out>, kNumbers[In::kIsSigned]});
}

/// To both 16-bit outputs.
template <class In>
void FillShared(Table& table, Element x) {
  table.shared_at(x, Element::float16) = SharedRows<In, ToFloat16>;
  table.shared_at(x, Element::bfloat16) = SharedRows<In, ToBfloat16>;
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
