// The loop of rows that are written with the compiler's own intrinsics: 64 elements an iteration,
// whose results of 16 bits fill two cache lines. Included once in a file, within its namespace and
// the attributes of its target. A kernel has kBits; Results(), which makes both cache lines of the
// codes at x; Advance(), which goes on to the next iteration; and PadLast(), which makes it one
// whose memory holds less than an iteration.

/// Elements of a line, and of an unrolled step.
constexpr size_t kLanes = 32;
constexpr size_t kUnroll = 2 * kLanes;

HWY_INLINE void Fetch(const uint8_t* formula) {
  _mm_prefetch(reinterpret_cast<const char*>(formula), _MM_HINT_T0);
}

template <class Kernel>
HWY_INLINE void TwoCacheLines(Kernel kernel, const uint8_t* x, uint8_t* y, size_t count,
                              size_t prefetch_distance) {
  constexpr size_t kBytes = kUnroll * Kernel::kBits / 8;
  __m512i lines[2];
  for (; count >= kUnroll; count -= kUnroll) {
    kernel.Results(x, lines);
    if (prefetch_distance != 0) {
      Fetch(x + prefetch_distance);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y), lines[0]);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y + kCacheLine), lines[1]);
    } else {
      Fetch(y + kPrefetchDistanceY);
      Fetch(y + kPrefetchDistanceY + kCacheLine);
      _mm512_storeu_si512(y, lines[0]);
      _mm512_storeu_si512(y + kCacheLine, lines[1]);
    }
    kernel.Advance();
    x += kBytes;
    y += 2 * kCacheLine;
  }
  if (count == 0) return;
  uint8_t codes[kBytes];
  typename Kernel::Padding padding;
  copy_padded(x, (count * Kernel::kBits + 7) / 8, codes, sizeof codes);
  kernel.PadLast(count, padding);
  kernel.Results(codes, lines);
  const uint64_t lanes = (uint64_t{1} << count) - 1;
  _mm512_mask_storeu_epi16(y, static_cast<__mmask32>(lanes), lines[0]);
  _mm512_mask_storeu_epi16(y + kCacheLine, static_cast<__mmask32>(lanes >> kLanes), lines[1]);
}
