// Layouts of codes. A layout is a struct with
//   Codes() and Bytes(), the codes of a step and the bytes that hold them;
//   kLoads, the bytes that Step() reads, more than Bytes() in most layouts;
//   Step(from, to), which unpacks the codes of a step. It writes a vector, which may be more.
// Blocks of 128 bits are independent, so that a vector of any length unpacks as many.
#include <array>
#include <cstring>

#include "element/float8_of.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernel/decode-inl.h"
#include "kernel/special_values.h"

#if defined(DEQUANT_UNPACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef DEQUANT_UNPACK_INL_H_
#undef DEQUANT_UNPACK_INL_H_
#else
#define DEQUANT_UNPACK_INL_H_
#endif

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

/// Bytes of a block.
constexpr size_t kBlock = 16;
/// A byte index for which shuffles give zero.
constexpr uint8_t kNone = 0x80;
using BlockIndices = std::array<uint8_t, kBlock>;

using DBytes = hn::ScalableTag<uint8_t>;

template <class D>
constexpr size_t kBlocksOf = hn::MaxLanes(D()) / kBlock;

/// Loads 16 bytes for each block, `stride` bytes after those of the block before.
template <class D>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const uint8_t* p, size_t stride) {
  if constexpr (hn::MaxLanes(D()) == kBlock) {
    return hn::LoadU(d, p);
  } else {
    const hn::Half<D> half;
    const auto low = LoadBlocks(half, p, stride);
    const auto high = LoadBlocks(half, p + kBlocksOf<decltype(half)> * stride, stride);
    return hn::Combine(d, high, low);
  }
}

/// Stores the blocks, each `stride` bytes after the block before. Later blocks overwrite earlier
/// ones.
template <class D>
HWY_INLINE void StoreBlocksAt(D d, hn::Vec<D> v, uint8_t* p, size_t stride) {
  if constexpr (hn::MaxLanes(D()) == kBlock) {
    hn::StoreU(v, d, p);
  } else {
    const hn::Half<D> half;
    StoreBlocksAt(half, hn::LowerHalf(half, v), p, stride);
    StoreBlocksAt(half, hn::UpperHalf(half, v), p + kBlocksOf<decltype(half)> * stride, stride);
  }
}

/// Bytes of each block by their indices in it; zero for kNone.
template <class D>
HWY_INLINE hn::Vec<D> Shuffle(D d, hn::Vec<D> v, const BlockIndices& indices) {
  return hn::TableLookupBytesOr0(v, hn::LoadDup128(d, indices.data()));
}

/// Unpacks eight codes of kBits bits, which are the lowest bits of each 64-bit lane, to a byte
/// each. Each step separates neighbours: quadruples of codes, pairs of codes, codes. Higher bits
/// must be zero, unless the codes from them on do not matter.
template <int kBits, class D>
HWY_INLINE hn::Vec<D> Separate(D d, hn::Vec<D> v) {
  if constexpr (kBits == 8) return v;
  const hn::Repartition<uint64_t, D> d64;
  constexpr int kGap = 8 - kBits;
  constexpr uint64_t kFour = (uint64_t{1} << 4 * kBits) - 1;
  constexpr uint64_t kTwo = 0x0000000100000001u * ((uint64_t{1} << 2 * kBits) - 1);
  constexpr uint64_t kOne = 0x0001000100010001u * ((uint64_t{1} << kBits) - 1);
  auto c = hn::BitCast(d64, v);
  c = hn::Or(hn::And(c, hn::Set(d64, kFour)),
             hn::And(hn::ShiftLeft<4 * kGap>(c), hn::Set(d64, kFour << 32)));
  c = hn::Or(hn::And(c, hn::Set(d64, kTwo)),
             hn::And(hn::ShiftLeft<2 * kGap>(c), hn::Set(d64, kTwo << 16)));
  c = hn::Or(hn::And(c, hn::Set(d64, kOne)),
             hn::And(hn::ShiftLeft<kGap>(c), hn::Set(d64, kOne << 8)));
  return hn::BitCast(d, c);
}

/// Bytes of a block that hold 16 codes of a stream, to 64-bit lanes with eight codes each.
template <int kBits>
alignas(kBlock) constexpr BlockIndices kStreamIndices = [] {
  BlockIndices indices{};
  for (size_t i = 0; i < kBlock; ++i) {
    const size_t byte = i % 8;
    indices[i] = byte < kBits ? static_cast<uint8_t>(i / 8 * kBits + byte) : kNone;
  }
  return indices;
}();

/// Bytes of a block that hold 16 codes of a stream, to 16-bit lanes with two codes each, and the
/// factors that shift a lane's codes to its highest bits. Not for seven bits, where a lane would
/// need three bytes.
template <int kBits>
struct PairsOfStream {
  static constexpr size_t Bit(size_t lane) { return lane * 2 * kBits; }

  alignas(kBlock) static constexpr BlockIndices kIndices = [] {
    BlockIndices indices{};
    for (size_t i = 0; i < kBlock; ++i) indices[i] = static_cast<uint8_t>(Bit(i / 2) / 8 + i % 2);
    return indices;
  }();
  alignas(kBlock) static constexpr std::array<uint16_t, kBlock / 2> kFactors = [] {
    std::array<uint16_t, kBlock / 2> factors{};
    for (size_t i = 0; i < factors.size(); ++i) {
      factors[i] = static_cast<uint16_t>(1U << (16 - 2 * kBits - Bit(i) % 8));
    }
    return factors;
  }();
};

/// True where each byte has whole codes, and is widened to a lane with a byte for each of them.
constexpr bool widens_bytes(int bits) { return bits == 2 || bits == 4; }

/// The bytes that LoadStream() reads.
template <int kBits, class D>
constexpr size_t kStreamLoads = widens_bytes(kBits) ? hn::MaxLanes(D()) * kBits / 8
                                                    : (kBlocksOf<D> - 1) * 2 * kBits + kBlock;

/// The codes of a stream from p on, one in each byte of a vector.
template <int kBits, class D>
HWY_INLINE hn::Vec<D> LoadStream(D d, const uint8_t* p) {
  const hn::Repartition<uint16_t, D> d16;
  if constexpr (kBits == 8) {
    return hn::LoadU(d, p);
  } else if constexpr (kBits == 4) {
    const auto bytes = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<uint8_t, decltype(d16)>(), p));
    const auto twice = hn::Or(bytes, hn::ShiftLeft<4>(bytes));
    return hn::BitCast(d, hn::And(twice, hn::Set(d16, 0x0F0F)));
  } else if constexpr (kBits == 2) {
    const hn::Repartition<uint32_t, D> d32;
    const auto bytes = hn::PromoteTo(d32, hn::LoadU(hn::Rebind<uint8_t, decltype(d32)>(), p));
    const auto twice = hn::Or(bytes, hn::ShiftLeft<12>(bytes));
    const auto halves = hn::And(twice, hn::Set(d32, 0x000F000F));
    const auto fourfold = hn::Or(halves, hn::ShiftLeft<6>(halves));
    return hn::BitCast(d, hn::And(fourfold, hn::Set(d32, 0x03030303)));
  } else if constexpr (kBits == 7) {
    return Separate<kBits>(d, Shuffle(d, LoadBlocks(d, p, 2 * kBits), kStreamIndices<kBits>));
  } else {
    using Pairs = PairsOfStream<kBits>;
    constexpr uint16_t kOne = (1 << kBits) - 1;
    const auto bytes = Shuffle(d, LoadBlocks(d, p, 2 * kBits), Pairs::kIndices);
    const auto pairs =
        hn::Mul(hn::BitCast(d16, bytes), hn::LoadDup128(d16, Pairs::kFactors.data()));
    const auto first = hn::And(hn::ShiftRight<16 - 2 * kBits>(pairs), hn::Set(d16, kOne));
    const auto second = hn::And(hn::ShiftRight<8 - kBits>(pairs), hn::Set(d16, kOne << 8));
    return hn::BitCast(d, hn::Or(first, second));
  }
}

/// One stream of bits.
template <int kBits>
struct Stream {
  static HWY_INLINE size_t Codes() { return hn::Lanes(DBytes()); }
  static HWY_INLINE size_t Bytes() { return Codes() * kBits / 8; }
  static constexpr size_t kLoads = kStreamLoads<kBits, DBytes>;
  static HWY_INLINE void Step(const uint8_t* from, uint8_t* to) {
    hn::StoreU(LoadStream<kBits>(DBytes(), from), DBytes(), to);
  }
};

/// 32 / kBits codes in each word, of which some bits are unused. A block holds two words of up to
/// eight codes, or one word of more.
template <int kBits>
struct PaddedWords {
  static constexpr size_t kInWord = 32 / kBits;
  static constexpr size_t kWords = kInWord <= 8 ? 2 : 1;
  static constexpr size_t kBlocks = kBlocksOf<DBytes>;
  static constexpr size_t kLoads = (kBlocks - 1) * kWords * 4 + kBlock;

  /// Words to 64-bit lanes; of one word the bytes of the first eight codes and those of the others.
  alignas(kBlock) static constexpr BlockIndices kWordIndices = [] {
    BlockIndices indices{};
    for (size_t i = 0; i < kBlock; ++i) {
      const size_t byte = i % 8;
      const size_t first = kWords == 2 ? i / 8 * 4 : i / 8 * kBits;
      const bool used = kWords == 2 ? byte < 4 : first + byte < 4 && byte < kBits;
      indices[i] = used ? static_cast<uint8_t>(first + byte) : kNone;
    }
    return indices;
  }();
  /// The bytes of codes without those of unused bits.
  alignas(kBlock) static constexpr BlockIndices kUsed = [] {
    BlockIndices indices{};
    for (size_t i = 0; i < kBlock; ++i) {
      const size_t in_lane = kWords == 2 ? kInWord : 8;
      const size_t byte = i / in_lane * 8 + i % in_lane;
      indices[i] = byte < kBlock ? static_cast<uint8_t>(byte) : kNone;
    }
    return indices;
  }();

  static HWY_INLINE size_t Codes() { return hn::Lanes(DBytes()) / kBlock * kWords * kInWord; }
  static HWY_INLINE size_t Bytes() { return hn::Lanes(DBytes()) / kBlock * kWords * 4; }
  static HWY_INLINE void Step(const uint8_t* from, uint8_t* to) {
    const DBytes d;
    const auto words = Shuffle(d, LoadBlocks(d, from, kWords * 4), kWordIndices);
    const auto codes = Shuffle(d, Separate<kBits>(d, words), kUsed);
    StoreBlocksAt(d, codes, to, kWords * kInWord);
  }
};

/// Streams of 4, 2 and 1 bit of each 32 codes.
template <int kBits>
struct Planes {
  using D = hn::CappedTag<uint8_t, 32>;
  static constexpr size_t kLoads = 4 * kBits + kBlock;

  static HWY_INLINE size_t Codes() { return 32; }
  static HWY_INLINE size_t Bytes() { return 4 * kBits; }
  /// Adds the plane of kPlane bits to the codes from `first` on.
  template <int kPlane, int kDone>
  static HWY_INLINE hn::Vec<D> Add(hn::Vec<D> codes, const uint8_t* from, size_t first) {
    if constexpr ((kBits & kPlane) == 0) return codes;
    // The planes before have kDone bits of 32 codes. No bit is shifted out of its byte.
    const auto plane = LoadStream<kPlane>(D(), from + 4 * kDone + first * kPlane / 8);
    const hn::Repartition<uint64_t, D> d64;
    return hn::Or(codes, hn::BitCast(D(), hn::ShiftLeft<kDone>(hn::BitCast(d64, plane))));
  }
  static HWY_INLINE void Step(const uint8_t* from, uint8_t* to) {
    for (size_t i = 0; i < 32; i += hn::Lanes(D())) {
      auto codes = hn::Zero(D());
      codes = Add<4, 0>(codes, from, i);
      codes = Add<2, kBits & 4>(codes, from, i);
      codes = Add<1, kBits & 6>(codes, from, i);
      hn::StoreU(codes, D(), to + i);
    }
  }
};

/// Codes 0, 2, 4, 6, 1, 3, 5, 7 of eight in a word.
struct Interleaved : Stream<4> {
  alignas(kBlock) static constexpr BlockIndices kOrder{0, 4,  1, 5,  2,  6,  3,  7,
                                                       8, 12, 9, 13, 10, 14, 11, 15};
  static HWY_INLINE void Step(const uint8_t* from, uint8_t* to) {
    const auto fields = LoadStream<4>(DBytes(), from);
    hn::StoreU(Shuffle(DBytes(), fields, kOrder), DBytes(), to);
  }
};

/// Two codes in each byte, the first in the high bits.
struct HighFirst : Stream<4> {
  static HWY_INLINE void Step(const uint8_t* from, uint8_t* to) {
    const hn::Repartition<uint16_t, DBytes> d16;
    const auto bytes = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<uint8_t, decltype(d16)>(), from));
    const auto both = hn::Or(hn::ShiftLeft<8>(bytes), hn::ShiftRight<4>(bytes));
    hn::StoreU(hn::BitCast(DBytes(), hn::And(both, hn::Set(d16, 0x0F0F))), DBytes(), to);
  }
};

/// float4e2m1 to float8e4m3fn.
struct Float4 : Stream<4> {
  alignas(kBlock) static constexpr BlockIndices kValues = float8_of<Element::float4e2m1>();
  static HWY_INLINE void Step(const uint8_t* from, uint8_t* to) {
    const auto codes = LoadStream<4>(DBytes(), from);
    const auto values = hn::LoadDup128(DBytes(), kValues.data());
    hn::StoreU(hn::TableLookupBytes(values, codes), DBytes(), to);
  }
};

/// An UnpackFn. Steps that would read beyond the last byte read a padded copy.
template <class Layout>
void Unpack(const uint8_t* from, size_t bytes, size_t count, uint8_t* to) {
  static_assert(Helpers::kUnpackSlack >= hn::MaxLanes(DBytes()));
  const size_t codes = Layout::Codes();
  const size_t step = Layout::Bytes();
  size_t i = 0;
  size_t at = 0;
  for (; i < count && at + Layout::kLoads <= bytes; i += codes, at += step) {
    hwy::Prefetch(from + at + kPrefetchDistanceX);
    Layout::Step(from + at, to + i);
  }
  if (i >= count) return;
  alignas(64) uint8_t padded[4 * HWY_MAX(HWY_MAX_BYTES, 32)];
  copy_padded(from + at, bytes - at, padded, sizeof padded);
  for (at = 0; i < count; i += codes, at += step) Layout::Step(padded + at, to + i);
}

/// The codes of a field of bytes, which are shifted in 16-bit lanes: the mask drops the bits of the
/// neighbour.
inline void FieldsOfBytes(const FieldArgs& a) {
  const DBytes d;
  const hn::Repartition<uint16_t, DBytes> d16;
  const auto mask = hn::Set(d, static_cast<uint8_t>((1 << a.bits) - 1));
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= a.count; i += lanes) {
    hwy::Prefetch(a.from + i + kPrefetchDistanceX);
    const auto pairs = hn::BitCast(d16, hn::LoadU(d, a.from + i));
    const auto shifted = hn::BitCast(d, hn::ShiftRightSame(pairs, a.shift));
    hn::StoreU(hn::And(shifted, mask), d, a.to + i);
  }
  for (; i < a.count; ++i) {
    a.to[i] = static_cast<uint8_t>(a.from[i] >> a.shift & ((1 << a.bits) - 1));
  }
}

inline void SplitNibbles(const uint8_t* from, size_t count, uint8_t* low, uint8_t* high) {
  const DBytes d;
  const hn::Repartition<int16_t, DBytes> d16;
  const hn::Rebind<uint8_t, decltype(d16)> half;
  const auto first = hn::Set(d16, 0xF);
  const auto second = hn::Set(d16, 0xF0);
  const auto packed = [&](auto a, auto b) DEQUANT_ATTR {
    return hn::DemoteTo(half, hn::Or(hn::And(a, first), hn::And(b, second)));
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto pairs = hn::BitCast(d16, hn::LoadU(d, from + i));
    const auto by_4 = hn::ShiftRight<4>(pairs);
    hn::StoreU(packed(pairs, by_4), half, low + i / 2);
    hn::StoreU(packed(by_4, hn::ShiftRight<8>(pairs)), half, high + i / 2);
  }
  for (; i < count; i += 2) {
    const unsigned pair = from[i] | (i + 1 < count ? from[i + 1] : 0U) << 8;
    low[i / 2] = static_cast<uint8_t>((pair & 0xF) | (pair >> 4 & 0xF0));
    high[i / 2] = static_cast<uint8_t>((pair >> 4 & 0xF) | (pair >> 8 & 0xF0));
  }
}

/// Saturation changes no field. TruncateTo() of Highway 1.0.3 gives other bytes on AVX3_DL and the
/// targets above it: it permutes words by indices of bytes.
inline void FieldsOfWords(const FieldArgs& a) {
  const hn::Rebind<uint8_t, DU> narrow;
  const auto mask = hn::Set(DU(), (uint32_t{1} << a.bits) - 1);
  const size_t lanes = hn::Lanes(DU());
  const auto load = [&](const uint8_t* from) DEQUANT_ATTR {
    const auto words = hn::LoadU(DU(), reinterpret_cast<const uint32_t*>(from));
    const auto fields = hn::And(hn::ShiftRightSame(words, a.shift), mask);
    return hn::DemoteTo(narrow, hn::BitCast(DI(), fields));
  };
  size_t i = 0;
  for (; i + lanes <= a.count; i += lanes) {
    hwy::Prefetch(a.from + 4 * i + kPrefetchDistanceX);
    hn::StoreU(load(a.from + 4 * i), narrow, a.to + i);
  }
  if (i == a.count) return;
  alignas(64) uint8_t words[HWY_MAX_BYTES];
  copy_padded(a.from + 4 * i, 4 * (a.count - i), words, sizeof words);
  hn::StoreU(load(words), narrow, a.to + i);
}

/// The last step ends with the last word, and can overlap the step before it.
inline void BytesOfWords(const uint8_t* from, size_t count, uint8_t* to) {
  const DBytes d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    for (size_t i = 0; i < 4 * count; ++i) to[i % 4 * count + i / 4] = from[i];
    return;
  }
  for (size_t done = 0; done < count; done += lanes) {
    const size_t i = HWY_MIN(done, count - lanes);
    hn::Vec<DBytes> v[4];
    hn::LoadInterleaved4(d, from + 4 * i, v[0], v[1], v[2], v[3]);
#pragma GCC unroll 4
    for (size_t k = 0; k < 4; ++k) hn::StoreU(v[k], d, to + k * count + i);
  }
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // DEQUANT_VECTOR_PASS
#endif
