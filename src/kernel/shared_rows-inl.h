// Kernels of 2-bit codes with 16-bit outputs, for many rows with the same scales and zero points,
// one for each element of a row:
//   y = narrow(fl32(fl32(x - zero) * scale)).
// An element of a row has four possible results. They are computed and rounded once for all rows,
// with the arithmetic of all kernels, and take 8 bytes, as much as the scale and the zero point.
// Each bit of a code then selects half of the remaining results.
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

/// Possible results of an element.
constexpr size_t kChoices = 4;
/// Elements in a tile: their possible results, 16 KiB, stay in the nearest cache.
constexpr size_t kSharedTile = 2048;

/// Parameters: the possible results of all elements. For each vector of 16-bit elements there are
/// four vectors: the results of code 0, of code 1, of code 2 and of code 3.
struct Choices {
  struct Padding {};
  /// Bytes with the codes of a vector of 16-bit elements.
  static constexpr size_t kCodeBytes = 2 * HWY_MAX_BYTES / 16;
  /// For each 16-bit lane the byte with its code, in both bytes, and the lower bit of the code
  /// within that byte, as a mask.
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
      const auto bytes = hn::TableLookupBytes(BroadcastBytes<kCodeBytes>(p + q * kCodeBytes), byte);
      const auto codes = hn::BitCast(d, bytes);
      const auto odd = hn::TestBit(codes, lower);
      const uint16_t* choices = words + q * kChoices * lanes;
      const auto low = hn::IfThenElse(odd, hn::Load(d, choices + lanes), hn::Load(d, choices));
      const auto high =
          hn::IfThenElse(odd, hn::Load(d, choices + 3 * lanes), hn::Load(d, choices + 2 * lanes));
      results[q] = hn::IfThenElse(hn::TestBit(codes, upper), high, low);
    }
  }
  HWY_INLINE void Advance() { words += kChoices * Step(); }
  HWY_INLINE void PadLast(size_t, Padding&) {}
};

/// Stores the possible results of `count` elements, whole vectors of them, in the order of Choices.
/// numbers[code] is the integer of a code.
template <class Out>
HWY_NOINLINE void StoreChoices(const float* scale, const int32_t* zero, size_t count,
                               const int32_t* numbers, uint16_t* words) {
  const size_t half = hn::Lanes(DF());
  for (size_t i = 0; i < count; i += 2 * half) {
    for (size_t code = 0; code < kChoices; ++code) {
      const auto result = [&](size_t at) DEQUANT_ATTR {
        const VI x = hn::Set(DI(), numbers[code]);
        return hn::Mul(SmallDifference(x, hn::LoadU(DI(), zero + at)), hn::LoadU(DF(), scale + at));
      };
      hn::Store(Words16<Out>(result(i), result(i + half)), D16Full(), words);
      words += 2 * half;
    }
  }
}

/// The output of the loop that selects results: rounded words of either 16-bit types.
struct Selected {
  using T = uint16_t;
};

/// Selects the results of `count` elements of a row.
inline HWY_NOINLINE void SelectRow(const uint16_t* words, const uint8_t* x, uint8_t* y,
                                   size_t count, size_t prefetch_distance) {
  Loop<Selected>(Pairs(), Choices(words), x, y, count, prefetch_distance);
}

/// What depends on the elements of x and y.
struct Types {
  void (*store)(const float*, const int32_t*, size_t, const int32_t*, uint16_t*);  ///< StoreChoices
  KernelFn per_element;    ///< the kernel for a row, if a scale is not finite and normal
  const int32_t* numbers;  ///< the integer of each code
};

inline HWY_NOINLINE void SelectRows(const KernelArgs& a, const Types& types) {
  if (HWY_UNLIKELY(!a.finite_normal)) {
    KernelArgs row = a;
    for (size_t r = 0; r < a.rows; ++r, row.x += a.x_row, row.y += a.y_row) types.per_element(row);
    return;
  }
  constexpr size_t kIteration = 2 * kMaxStep;  // elements, at most, of an iteration of Loop()
  alignas(64) uint16_t words[kChoices * kSharedTile];
  for (size_t i = 0; i < a.count; i += kSharedTile) {
    const size_t count = HWY_MIN(kSharedTile, a.count - i);
    const size_t whole = count / kIteration * kIteration;
    types.store(a.scale + i, a.zero + i, whole, types.numbers, words);
    if (whole != count) {
      alignas(64) float scale[kIteration];
      alignas(64) int32_t zero[kIteration];
      copy_padded(a.scale + i + whole, (count - whole) * sizeof *scale, scale, sizeof scale);
      copy_padded(a.zero + i + whole, (count - whole) * sizeof *zero, zero, sizeof zero);
      types.store(scale, zero, kIteration, types.numbers, words + kChoices * whole);
    }
    const uint8_t* x = a.x + i * Pairs::kBits / 8;
    uint8_t* y = a.y + i * sizeof(Selected::T);
    for (size_t r = 0; r < a.rows; ++r, x += a.x_row, y += a.y_row) {
      SelectRow(words, x, y, count, prefetch_distance_of(a, y));
    }
  }
}

/// The kernel of an element and an output.
template <class In, class Out>
void SharedRows(const KernelArgs& a) {
  static constexpr int32_t kNumbers[2][kChoices] = {{0, 1, 2, 3}, {0, 1, -2, -1}};
  SelectRows(a, {StoreChoices<Out>, PerElementKernel<In, Out>, kNumbers[In::kIsSigned]});
}

/// The kernels of an element to both 16-bit outputs.
template <class In>
void FillShared(Table& table, Element x) {
  table.shared_at(x, Element::float16) = SharedRows<In, ToFloat16>;
  table.shared_at(x, Element::bfloat16) = SharedRows<In, ToBfloat16>;
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
