// The loop of rows that are written with the compiler's own intrinsics: 64 elements a turn, whose results of 16 bits
// fill two lines of the cache. Included once in a file, within its namespace and the attributes of its target.
// A kernel has kBits; Results(), which makes both lines of the codes at x; Advance(), which goes on to the next turn;
// and Part(), which makes it one whose memory holds less than a turn.

/// Elements of a line, and of a turn.
constexpr size_t kLanes = 32;
constexpr size_t kTurn = 2 * kLanes;

HWY_INLINE void Fetch(const uint8_t* line) {
  _mm_prefetch(reinterpret_cast<const char*>(line), _MM_HINT_T0);
}

template <class Kernel>
HWY_INLINE void TwoLines(Kernel kernel, const uint8_t* x, uint8_t* y, size_t count, size_t ahead) {
  constexpr size_t kBytes = kTurn * Kernel::kBits / 8;
  __m512i lines[2];
  for (; count >= kTurn; count -= kTurn) {
    kernel.Results(x, lines);
    if (ahead != 0) {
      Fetch(x + ahead);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y), lines[0]);
      _mm512_stream_si512(reinterpret_cast<__m512i*>(y + kLine), lines[1]);
    } else {
      Fetch(y + kAheadOfY);
      Fetch(y + kAheadOfY + kLine);
      _mm512_storeu_si512(y, lines[0]);
      _mm512_storeu_si512(y + kLine, lines[1]);
    }
    kernel.Advance();
    x += kBytes;
    y += 2 * kLine;
  }
  if (count == 0) return;
  uint8_t codes[kBytes];
  typename Kernel::Padding padding;
  copy_padded(x, (count * Kernel::kBits + 7) / 8, codes, sizeof codes);
  kernel.Part(count, padding);
  kernel.Results(codes, lines);
  const uint64_t lanes = (uint64_t{1} << count) - 1;
  _mm512_mask_storeu_epi16(y, static_cast<__mmask32>(lanes), lines[0]);
  _mm512_mask_storeu_epi16(y + kLine, static_cast<__mmask32>(lanes >> kLanes), lines[1]);
}
