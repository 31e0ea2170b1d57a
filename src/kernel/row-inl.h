// The only loop. RunsRow and VaryingRow are table entries: whole groups of vectors, what is left at the end
// and both kinds of stores come from one body.
#include <type_traits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernel/careful.h"
#include "kernel/decode-inl.h"
#include "kernel/decode_float-inl.h"
#include "kernel/decode_packed-inl.h"
#include "kernel/float8_results-inl.h"
#include "kernel/lookup-inl.h"
#include "kernel/narrow-inl.h"
#include "kernel/side-inl.h"
#include "kernel/targets.h"

#if defined(DEQUANT_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_ROW_INL_H_
#undef DEQUANT_ROW_INL_H_
#else
#define DEQUANT_ROW_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Stores a group of 16-bit results.
HWY_INLINE void StoreResults(const V16* results, uint8_t* y, bool stream) {
  auto* out = reinterpret_cast<uint16_t*>(y);
  const size_t lanes = hn::Lanes(D16Full());
  for (size_t q = 0; q < kResults; ++q) Put(results[q], D16Full(), out + q * lanes, stream);
}

/// True where results of 16 bits are looked up as they are.
template <class In, class Side>
constexpr bool kHasResults = requires(const Side& side, const In& in, const uint8_t* x,
                                      V16* results) {
  side.Results(in, x, results);
};

/// Dequantizes a group.
template <class Out, class In, class Side>
HWY_INLINE void Group(const In& in, const Side& side, const uint8_t* x, uint8_t* y, bool stream) {
  if constexpr (kHasResults<In, Side>) {
    V16 results[kResults];
    side.Results(in, x, results);
    StoreResults(results, y, stream);
  } else {
    VF v[kGroup];
    side.Values(in, x, v);
    Out::Store(v, y, stream);
  }
}

/// Groups in a turn of the loop: two where sides need no padding and a group is short, because counting costs
/// as much as some arithmetic.
template <class Side>
constexpr size_t kTurn = std::is_empty_v<typename Side::Padding>&& HWY_MAX_BYTES <= 32 ? 2 : 1;

/// True where a loop whose results stay in the caches waits for its stores: a vector fills a line, and is not
/// narrowed or only looked up.
template <class Out, class In, class Side>
constexpr bool kStoresAreSlowest = HWY_MAX_BYTES == kLine &&
                                   (sizeof(typename Out::T) == sizeof(float) ||
                                    kHasResults<In, Side>);

/// Dequantizes count elements, of which there is one at least. What is left after the last whole turn goes
/// through padded copies, so that nothing beyond it is touched; it is done by the same code. `ahead` is what
/// streams_ahead() says.
template <class Out, class In, class Side>
HWY_INLINE void Loop(const In& in, Side side, const uint8_t* x, uint8_t* y, size_t count,
                     size_t ahead) {
  bool stream = ahead != 0;
  alignas(64) uint8_t x_padding[kTurn<Side> * kMaxStep * In::kBits / 8];
  alignas(64) uint8_t y_padding[kTurn<Side> * kMaxStep * sizeof(typename Out::T)];
  typename Side::Padding padding;
  const size_t x_group = Step() * In::kBits / 8;
  const size_t y_group = Step() * sizeof(typename Out::T);
  const size_t rest = count % (kTurn<Side> * Step());
  uint8_t* rest_of_y = nullptr;
  for (size_t turns = count / (kTurn<Side> * Step());; turns = 0) {
    if (HWY_UNLIKELY(turns == 0)) {
      copy_padded(x, (rest * In::kBits + 7) / 8, x_padding, sizeof x_padding);
      side.Part(rest, padding);
      rest_of_y = y;
      x = x_padding;
      y = y_padding;
      stream = false;
      ahead = 0;
      turns = 1;
    }
    do {
      if (kStoresAreSlowest<Out, In, Side> && !stream) {
        for (size_t i = 0; i < kTurn<Side> * y_group; i += kLine) hwy::Prefetch(y + kAheadOfY + i);
      } else {
        for (size_t i = 0; i < kTurn<Side> * x_group; i += kLine) hwy::Prefetch(x + ahead + i);
      }
      for (size_t g = 0; g < kTurn<Side>; ++g) {
        Group<Out>(in, side, x, y, stream);
        x += x_group;
        y += y_group;
        side.Advance();
      }
    } while (--turns != 0);
    if (rest == 0) return;
    if (rest_of_y != nullptr) {
      return copy_bytes(y_padding, rest * sizeof(typename Out::T), rest_of_y);
    }
  }
}

/// A scale for each run.
template <class In, class Out, bool kAdds>
void RunsRow(const RowArgs& a) {
  if (HWY_UNLIKELY(!a.plain)) {
    return careful_row(a, Leaf::runs, RunsRow<In, ToFloat32, kAdds>,
                       {In::kBits, sizeof(typename Out::T), Finish<Out>});
  }
  const In in(a.lut);
  if constexpr (!kAdds) {
    const size_t lanes = hn::Lanes(DF());
    if (a.run == lanes && a.count > lanes) {
      const Blocked<In, Out, 1> side(a.scale, a.zero);
      return Loop<Out>(in, side, a.x, a.y, a.count, streams_ahead(a, a.y));
    }
    if (a.run == 2 * lanes && a.count > 2 * lanes) {
      const Blocked<In, Out, 2> side(a.scale, a.zero);
      return Loop<Out>(in, side, a.x, a.y, a.count, streams_ahead(a, a.y));
    }
#if HWY_MAX_BYTES == 32
    // Blocks of 32 are so common that they are worth a loop of their own.
    if (a.run == 4 * lanes && a.count > 4 * lanes) {
      const Blocked<In, Out, 4> side(a.scale, a.zero);
      return Loop<Out>(in, side, a.x, a.y, a.count, streams_ahead(a, a.y));
    }
#endif
  }
  size_t run = 0;
  for (size_t i = 0; i < a.count; i += a.run, ++run) {
    const uint8_t* x = a.x + i * In::kBits / 8;
    uint8_t* y = a.y + i * sizeof(typename Out::T);
    const size_t count = HWY_MIN(a.run, a.count - i);
    if constexpr (LongRun<In, Out>::kExists && !kAdds) {
      if (count >= LongRun<In, Out>::kLong && LongRun<In, Out>::Fits(a.lut, a.scale[run])) {
        const LongRun<In, Out> side(a.lut, a.scale[run]);
        Loop<Out>(in, side, x, y, count, streams_ahead(a, y));
        continue;
      }
    }
    const float offset = kAdds ? a.offset[run] : 0.0F;
    if constexpr (requires { typename In::LessZero; }) {
      if (a.zero[run] == 0) {
        const typename In::LessZero plain(a.lut);
        const Uniform<typename In::LessZero, Out, kAdds> side(plain, a.scale[run], 0, offset);
        Loop<Out>(plain, side, x, y, count, streams_ahead(a, y));
        continue;
      }
    }
    const Uniform<In, Out, kAdds> side(in, a.scale[run], a.zero[run], offset);
    Loop<Out>(in, side, x, y, count, streams_ahead(a, y));
  }
}

/// A scale for each element.
template <class In, class Out>
void VaryingRow(const RowArgs& a) {
  if (HWY_UNLIKELY(!a.plain)) {
    return careful_row(a, Leaf::varying, VaryingRow<In, ToFloat32>,
                       {In::kBits, sizeof(typename Out::T), Finish<Out>});
  }
  Loop<Out>(In(a.lut), Varying<In>{a.scale, a.zero}, a.x, a.y, a.count, streams_ahead(a, a.y));
}

/// The six rows of an element.
template <class In>
void FillElement(Table& table, Element x) {
  table.at(x, Element::float32, Leaf::runs) = RunsRow<In, ToFloat32, false>;
  table.at(x, Element::float32, Leaf::varying) = VaryingRow<In, ToFloat32>;
  table.at(x, Element::float16, Leaf::runs) = RunsRow<In, ToFloat16, false>;
  table.at(x, Element::float16, Leaf::varying) = VaryingRow<In, ToFloat16>;
  table.at(x, Element::bfloat16, Leaf::runs) = RunsRow<In, ToBfloat16, false>;
  table.at(x, Element::bfloat16, Leaf::varying) = VaryingRow<In, ToBfloat16>;
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
