// The loop of the AVX-512 kernels that are written with intrinsics. An iteration has 64 elements,
// whose 16-bit results fill two cache lines. A file includes this header once, within its namespace
// and its target attributes. A Kernel has
//   kBits, the bits of a code;
//   Results(x, lines), which computes the two cache lines of results from the codes at x;
//   Advance(), which moves to the parameters of the next iteration;
//   PadLast(count, padding), which copies the parameters of the last `count` elements to the
//     zero-padded buffer `padding` and reads them from there, so that no load leaves the arrays.

/// 16-bit lanes of a vector, which fills a cache line.
constexpr size_t kLanes = 32;
/// Elements of an iteration.
constexpr size_t kUnroll = 2 * kLanes;

HWY_INLINE void Prefetch(const uint8_t* address) {
  _mm_prefetch(reinterpret_cast<const char*>(address), _MM_HINT_T0);
}

/// Dequantizes `count` elements. `prefetch_distance` is the result of prefetch_distance_of().
template <class Kernel>
HWY_INLINE void TwoCacheLines(Kernel kernel, const uint8_t* x, uint8_t* y, size_t count,
                              size_t prefetch_distance) {
  constexpr size_t kBytes = kUnroll * Kernel::kBits / 8;
  __m512i lines[2];
  for (; count >= kUnroll; count -= kUnroll) {
    kernel.Results(x, lines);
    if (prefetch_distance != 0) {
      Prefetch(x + prefetch_distance);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y), lines[0]);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y + kCacheLine), lines[1]);
    } else {
      Prefetch(y + kPrefetchDistanceY);
      Prefetch(y + kPrefetchDistanceY + kCacheLine);
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
