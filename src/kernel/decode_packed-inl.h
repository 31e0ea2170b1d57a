// Decoders of 4-bit and 2-bit codes. Codes are first unpacked to indices: 32-bit lanes with the
// code in the lowest bits. Where a vector has as many float32 lanes as there are codes, or more
// (kTable), results can be looked up in a vector with the results of all codes.
#include <cstring>

#include "hwy/highway.h"
#include "kernel/decode-inl.h"

#if defined(DEQUANT_DECODE_PACKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_DECODE_PACKED_INL_H_
#undef DEQUANT_DECODE_PACKED_INL_H_
#else
#define DEQUANT_DECODE_PACKED_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

template <class T>
HWY_INLINE T LoadAs(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

/// True where one instruction shifts each lane by its own count.
#define DEQUANT_LANE_SHIFTS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

/// 0, n, 2 * n, ...
HWY_INLINE VU Multiples(uint32_t n) { return hn::Mul(hn::Iota(DU(), 0), hn::Set(DU(), n)); }

#if DEQUANT_LANE_SHIFTS

/// The entries of a table that the lowest bits of each index select.
HWY_INLINE VF Lookup(VF table, VU index) {
#if HWY_TARGET <= HWY_AVX3
  return VF{_mm512_permutexvar_ps(index.raw, table.raw)};
#else
  return VF{_mm256_permutevar8x32_ps(table.raw, index.raw)};
#endif
}

/// Unpacks 4-bit codes: Index() to the lowest bits of each lane, Top() to the highest bits. The
/// other bits of a lane are those of neighbouring codes.
struct Nibbles {
  static constexpr int kBits = 4;
#if HWY_TARGET <= HWY_AVX3
  // The 8 bytes with the codes of a vector are broadcast to all 64-bit lanes. Each 32-bit lane
  // selects the byte with its code and shifts the code to its place.
  using D8 = hn::ScalableTag<uint8_t>;
  VU shift;
  hn::Vec<D8> byte;

  HWY_INLINE Nibbles()
      : shift(hn::And(Multiples(4), hn::Set(DU(), 4))),
        byte(hn::BitCast(D8(), hn::And(hn::ShiftRight<1>(hn::Iota(DU(), 0)), hn::Set(DU(), 7)))) {}

  HWY_INLINE void Index(const uint8_t* p, VU* index) const {
    const hn::ScalableTag<uint64_t> d64;
    for (size_t q = 0; q < kStepVectors; ++q) {
      const auto codes = hn::Set(d64, LoadAs<uint64_t>(p + 8 * q));
#if HWY_TARGET == HWY_AVX3_DL
      // For each byte of the result, multishift takes eight bits that start at any bit.
      index[q] = hn::BitCast(
          DU(), hn::Vec<decltype(d64)>{_mm512_multishift_epi64_epi8(Multiples(4).raw, codes.raw)});
#else
      const auto own_byte = hn::TableLookupBytes(hn::BitCast(D8(), codes), byte);
      index[q] = hn::Shr(hn::BitCast(DU(), own_byte), shift);
#endif
    }
  }
  HWY_INLINE void Top(const uint8_t* p, VU* top) const {
    const hn::ScalableTag<uint64_t> d64;
    for (size_t q = 0; q < kStepVectors; ++q) {
      const auto codes = hn::Set(d64, LoadAs<uint64_t>(p + 8 * q));
#if HWY_TARGET == HWY_AVX3_DL
      const auto from = hn::ShiftLeft<24>(hn::Add(Multiples(4), hn::Set(DU(), 60)));
      top[q] = hn::BitCast(
          DU(), hn::Vec<decltype(d64)>{_mm512_multishift_epi64_epi8(from.raw, codes.raw)});
#else
      const auto own_byte = hn::TableLookupBytes(
          hn::BitCast(D8(), codes), hn::BitCast(D8(), hn::ShiftLeft<24>(hn::BitCast(DU(), byte))));
      top[q] = hn::Shl(hn::BitCast(DU(), own_byte), hn::Xor(shift, hn::Set(DU(), 4)));
#endif
    }
  }
#else
  VU shift;

  HWY_INLINE Nibbles() : shift(Multiples(4)) {}
  HWY_INLINE void Index(const uint8_t* p, VU* index) const {
    for (size_t q = 0; q < kStepVectors; ++q) {
      index[q] = hn::Shr(hn::Set(DU(), LoadAs<uint32_t>(p + 4 * q)), shift);
    }
  }
  HWY_INLINE void Top(const uint8_t* p, VU* top) const {
    const auto up = hn::Sub(hn::Set(DU(), 28), shift);
    for (size_t q = 0; q < kStepVectors; ++q) {
      top[q] = hn::Shl(hn::Set(DU(), LoadAs<uint32_t>(p + 4 * q)), up);
    }
  }
#endif
};

/// Unpacks 2-bit codes: Index() to the lowest bits of each lane, Top() to the highest bits.
struct Pairs {
  static constexpr int kBits = 2;
  VU shift;

  HWY_INLINE Pairs() : shift(Multiples(2)) {}
  HWY_INLINE void Index(const uint8_t* p, VU* index) const {
#if HWY_TARGET <= HWY_AVX3
    for (size_t q = 0; q < kStepVectors; ++q) {
      index[q] = hn::Shr(hn::Set(DU(), LoadAs<uint32_t>(p + 4 * q)), shift);
    }
#else
    const auto second = hn::Add(shift, hn::Set(DU(), 16));
    for (size_t q = 0; q < kStepVectors; q += 2) {
      const auto codes = hn::Set(DU(), LoadAs<uint32_t>(p + 2 * q));
      index[q] = hn::Shr(codes, shift);
      index[q + 1] = hn::Shr(codes, second);
    }
#endif
  }
  HWY_INLINE void Top(const uint8_t* p, VU* top) const {
    const auto up = hn::Sub(hn::Set(DU(), 30), shift);
#if HWY_TARGET <= HWY_AVX3
    for (size_t q = 0; q < kStepVectors; ++q) {
      top[q] = hn::Shl(hn::Set(DU(), LoadAs<uint32_t>(p + 4 * q)), up);
    }
#else
    const auto second = hn::Sub(up, hn::Set(DU(), 16));
    for (size_t q = 0; q < kStepVectors; q += 2) {
      const auto codes = hn::Set(DU(), LoadAs<uint32_t>(p + 2 * q));
      top[q] = hn::Shl(codes, up);
      top[q + 1] = hn::Shl(codes, second);
    }
#endif
  }
};

#else  // !DEQUANT_LANE_SHIFTS

/// Splits each byte into the low kShift bits and the bits above them, low first: n bytes become 2n.
template <int kShift, class DOut, class V>
HWY_INLINE hn::Vec<DOut> Split(DOut d, V v) {
  const hn::Half<DOut> dh;
  const auto low = hn::And(v, hn::Set(dh, static_cast<uint8_t>((1 << kShift) - 1)));
  const auto high = hn::ShiftRight<kShift>(v);
  return hn::InterleaveLower(d, hn::ZeroExtendVector(d, low), hn::ZeroExtendVector(d, high));
}

/// Unpacks 4-bit codes.
struct Nibbles {
  static constexpr int kBits = 4;

  HWY_INLINE Nibbles() {}
  HWY_INLINE void Index(const uint8_t* p, VU* index) const {
    const hn::Rebind<uint8_t, DI> d8;
    const hn::Half<decltype(d8)> dh;
    const size_t bytes = hn::Lanes(dh);
    for (size_t q = 0; q < kStepVectors; ++q) {
      index[q] = hn::BitCast(DU(), hn::PromoteTo(DI(), Split<4>(d8, hn::LoadU(dh, p + q * bytes))));
    }
  }
};

/// Unpacks 2-bit codes.
struct Pairs {
  static constexpr int kBits = 2;

  HWY_INLINE Pairs() {}
  HWY_INLINE void Index(const uint8_t* p, VU* index) const {
    const hn::Rebind<uint8_t, DI> d8;
    const hn::Half<decltype(d8)> dh;
    const hn::Half<decltype(dh)> dq;
    const size_t bytes = hn::Lanes(dq);
    for (size_t q = 0; q < kStepVectors; ++q) {
      const auto nibbles = Split<4>(dh, hn::LoadU(dq, p + q * bytes));
      index[q] = hn::BitCast(DU(), hn::PromoteTo(DI(), Split<2>(d8, nibbles)));
    }
  }
};

#endif  // DEQUANT_LANE_SHIFTS

/// Packed integers, signed or unsigned. Code() is the integer of an index.
template <class Indices, bool kSigned>
struct Packed : Indices {
  using Raw = VI;
  static constexpr bool kIsSigned = kSigned;
  static constexpr bool kTable = DEQUANT_LANE_SHIFTS && HWY_MAX_BYTES >= 4 << Indices::kBits;

  explicit HWY_INLINE Packed(const float*) : Indices() {}
  static HWY_INLINE VI Code(VU index) {
    constexpr int kUnused = 32 - Indices::kBits;
    if constexpr (kSigned) {
      return hn::ShiftRight<kUnused>(hn::BitCast(DI(), hn::ShiftLeft<kUnused>(index)));
    }
    return hn::BitCast(DI(), hn::And(index, hn::Set(DU(), (1u << Indices::kBits) - 1)));
  }
  HWY_INLINE void Decode(const uint8_t* p, VI* raw) const {
    VU index[kStepVectors];
#if DEQUANT_LANE_SHIFTS
    if constexpr (kSigned) {
      this->Top(p, index);
      for (size_t q = 0; q < kStepVectors; ++q) {
        raw[q] = hn::ShiftRight<32 - Indices::kBits>(hn::BitCast(DI(), index[q]));
      }
      return;
    }
#endif
    this->Index(p, index);
    for (size_t q = 0; q < kStepVectors; ++q) raw[q] = Code(index[q]);
  }
  static HWY_INLINE VF Difference(VI x, VI zero) { return SmallDifference(x, zero); }
  /// fl32(x - zero) for the codes x from `first` on, one in each lane. Code 0 follows the last
  /// code.
  HWY_INLINE VF Differences(VI zero, size_t first = 0) const {
    return Difference(Code(hn::Iota(DU(), static_cast<uint32_t>(first))), zero);
  }
};

/// A 4-bit float. A table holds the 16 values, those of the negative codes in its second half.
struct Float4 : Nibbles {
  using Raw = VF;
  static constexpr bool kTable = HWY_MAX_BYTES >= 64;
  const float* lut;

#if DEQUANT_LANE_SHIFTS
  VF values;

  explicit HWY_INLINE Float4(const float* l) : Nibbles(), lut(l), values(hn::LoadU(DF(), l)) {}
  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    VU index[kStepVectors];
    Index(p, index);
    for (size_t q = 0; q < kStepVectors; ++q) {
      raw[q] = Lookup(values, index[q]);
      // A vector of eight lanes holds only the values of the positive codes.
      if constexpr (!kTable) {
        const auto sign = hn::And(hn::ShiftLeft<28>(index[q]), hn::Set(DU(), 0x80000000));
        raw[q] = hn::Or(raw[q], hn::BitCast(DF(), sign));
      }
    }
  }
#else
  explicit HWY_INLINE Float4(const float* l) : Nibbles(), lut(l) {}
  HWY_INLINE void Decode(const uint8_t* p, VF* raw) const {
    VU index[kStepVectors];
    Index(p, index);
    for (size_t q = 0; q < kStepVectors; ++q) {
      raw[q] = hn::GatherIndex(DF(), lut, hn::BitCast(DI(), index[q]));
    }
  }
#endif
  static HWY_INLINE VF Difference(VF x, VI) { return x; }
  /// The values of the codes from `first` on.
  HWY_INLINE VF Differences(VI, size_t first = 0) const { return hn::LoadU(DF(), lut + first); }
};

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
