// Decoders of the kernels that compute in float16. float16_kernels.cc includes this header once,
// within its namespace and its target attributes. A decoder has
//   kBits, the bits of a code;
//   kNan, true if some codes are NaN;
//   kLongest, the longest group for which its kernel is used: for longer groups the kernel of the
//     fallback table, which looks results up, is faster;
//   Difference(p, zero), which is x - zero, exact in float16, for the 32 codes x at p.

constexpr int16_t kCanonicalNan = 0x7E00;

HWY_INLINE __m512i words_of(__m512h v) { return _mm512_castph_si512(v); }
HWY_INLINE __m512h halves_of(__m512i v) { return _mm512_castsi512_ph(v); }

/// Integers. Words() of Codes loads 32 integers as int16.
template <class Codes>
struct Integers : Codes {
  static constexpr bool kNan = false;
  static HWY_INLINE __m512h Difference(const uint8_t* p, __m512i zero) {
    return _mm512_cvtepi16_ph(_mm512_sub_epi16(Codes::Words(p), zero));
  }
};

template <bool kSigned>
struct Bytes {
  static constexpr size_t kBits = 8;
  static constexpr size_t kLongest = SIZE_MAX;
  static HWY_INLINE __m512i Words(const uint8_t* p) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return kSigned ? _mm512_cvtepi8_epi16(codes) : _mm512_cvtepu8_epi16(codes);
  }
};

/// 4-bit or 2-bit integers. A code is moved to the highest bits of its 16-bit lane, and from there
/// shifted down, with or without sign.
template <int kWidth, bool kSigned>
struct Packed {
  static_assert(kWidth == 4 || kWidth == 2, "16 codes or more fill a lane of multishift");
  static constexpr size_t kBits = kWidth;
  static constexpr size_t kLongest = kWidth == 4 ? 16 : 0;

  /// For each 64-bit lane of four results, the 64 bits of memory with its four codes.
  static HWY_INLINE __m512i Broadcast(const uint8_t* p) {
    if constexpr (kWidth == 2) {
      int64_t codes;
      std::memcpy(&codes, p, sizeof codes);
      return _mm512_set1_epi64(codes);
    }
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1),
                                    _mm512_castsi128_si512(codes));
  }
  static HWY_INLINE __m512i Words(const uint8_t* p) {
    alignas(64) static constexpr auto kFrom = [] {
      std::array<uint8_t, 64> from{};
      for (size_t i = 1; i < from.size(); i += 2) {
        const size_t lane = kWidth == 4 ? i / 8 % 4 : i / 8;  // among those with the same codes
        from[i] = static_cast<uint8_t>(((lane * 4 + i / 2 % 4 + 1) * kWidth - 8) % 64);
      }
      return from;
    }();
    const __m512i top = _mm512_multishift_epi64_epi8(_mm512_load_si512(kFrom.data()), Broadcast(p));
    return kSigned ? _mm512_srai_epi16(top, 16 - kWidth) : _mm512_srli_epi16(top, 16 - kWidth);
  }
};

/// A float8e5m2 code is the upper byte of the float16 code of the same value.
struct Float8e5m2 {
  static constexpr size_t kBits = 8;
  static constexpr size_t kLongest = SIZE_MAX;
  static constexpr bool kNan = true;
  static HWY_INLINE __m512h Difference(const uint8_t* p, __m512i) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return halves_of(_mm512_slli_epi16(_mm512_cvtepu8_epi16(codes), 8));
  }
};

/// Shifted left by 7 bits, a float8e4m3fn code has its exponent in the lower four of float16's five
/// exponent bits, and its mantissa in the upper three of the mantissa bits. The biases differ by 8,
/// so the value is 2^8 times this float16 number, exactly, also of subnormal codes.
struct Float8e4m3fn {
  static constexpr size_t kBits = 8;
  static constexpr size_t kLongest = 8192;
  static constexpr bool kNan = true;
  static HWY_INLINE __m512h Difference(const uint8_t* p, __m512i) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m512i moved = _mm512_slli_epi16(_mm512_cvtepi8_epi16(codes), 7);
    const __m512i bits = _mm512_and_si512(moved, _mm512_set1_epi16(static_cast<int16_t>(0xBF80)));
    const __m512i magnitude = _mm512_set1_epi16(0x3F80);
    const __mmask32 nan = _mm512_cmpeq_epi16_mask(_mm512_and_si512(bits, magnitude), magnitude);
    const __m512h value = _mm512_mul_ph(halves_of(bits), halves_of(_mm512_set1_epi16(0x5C00)));
    return halves_of(_mm512_mask_set1_epi16(words_of(value), nan, kCanonicalNan));
  }
};
