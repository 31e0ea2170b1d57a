// The ceilings: loads whose values are combined by exclusive or, and stores of a constant.
#include "bench/measure/ceiling.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "dequant/isa.h"

// The targets of the library, without those whose loads and stores equal another target's.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/measure/ceiling.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before these.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef DEQUANT_MOVES
#define DEQUANT_MOVES
namespace dequant::bench {

/// Moves a chunk in strips of so many output bytes, asking so many bytes ahead of the reads.
/// Returns the exclusive or of all that it read.
struct Moves {
  uint8_t (*plain)(const Traffic& chunk, size_t strip, size_t ahead);
  uint8_t (*streaming)(const Traffic& chunk, size_t strip, size_t ahead);
};

}  // namespace dequant::bench
#endif

HWY_BEFORE_NAMESPACE();
namespace dequant::bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<uint8_t>;

/// Combines the whole vectors of [begin, end) into `a` and `b` by exclusive or.
template <class V>
HWY_INLINE void Read(const uint8_t* HWY_RESTRICT begin, const uint8_t* end, size_t ahead, V& a,
                     V& b) {
  if (ahead != 0) {
    for (const uint8_t* line = begin + ahead; line < end + ahead; line += 64) hwy::Prefetch(line);
  }
  const D d;
  const size_t n = hn::Lanes(d);
  for (; begin + 4 * n <= end; begin += 4 * n) {
    a = hn::Xor(a, hn::Xor(hn::LoadU(d, begin), hn::LoadU(d, begin + n)));
    b = hn::Xor(b, hn::Xor(hn::LoadU(d, begin + 2 * n), hn::LoadU(d, begin + 3 * n)));
  }
  for (; begin + n <= end; begin += n) a = hn::Xor(a, hn::LoadU(d, begin));
}

/// Stores whole vectors of one bits to [to, end); `to` is aligned.
template <bool kStreams>
HWY_INLINE void Write(uint8_t* HWY_RESTRICT to, const uint8_t* end) {
  const D d;
  const size_t n = hn::Lanes(d);
  const auto ones = hn::Set(d, uint8_t{0xFF});
  const auto store = [&](uint8_t* at) HWY_ATTR {
    if constexpr (kStreams) {
      hn::Stream(ones, d, at);
    } else {
      hn::Store(ones, d, at);
    }
  };
  for (; to + 4 * n <= end; to += 4 * n) {
    store(to);
    store(to + n);
    store(to + 2 * n);
    store(to + 3 * n);
  }
  for (; to + n <= end; to += n) store(to);
}

template <bool kStreams>
uint8_t MoveChunk(const Traffic& chunk, size_t strip, size_t ahead) {
  struct Source {
    const uint8_t* data;
    uint64_t size;
    uint64_t step;  // bytes for each strip, in units of 2^-16
  };
  const D d;
  auto a = hn::Zero(d);
  auto b = hn::Zero(d);
  std::array<Source, std::tuple_size_v<decltype(chunk.reads)>> sources;
  size_t count = 0;
  const size_t strips = (chunk.write.size() + strip - 1) / strip;
  for (const auto read : chunk.reads) {
    if (read.empty()) continue;
    sources[count++] = {reinterpret_cast<const uint8_t*>(read.data()), read.size(),
                        (uint64_t{read.size()} << 16) / strips};
  }
  auto* const to = reinterpret_cast<uint8_t*>(chunk.write.data());
  const uint8_t* const end = to + chunk.write.size();
  for (size_t i = 0; i < strips; ++i) {
    for (size_t s = 0; s < count; ++s) {
      constexpr uint64_t kLine = ~uint64_t{63};
      const uint64_t from = (i * sources[s].step >> 16) & kLine;
      const uint64_t until =
          i + 1 == strips ? sources[s].size : ((i + 1) * sources[s].step >> 16) & kLine;
      Read(sources[s].data + from, sources[s].data + until, ahead, a, b);
    }
    Write<kStreams>(to + i * strip, std::min<const uint8_t*>(to + (i + 1) * strip, end));
  }
  if constexpr (kStreams) hwy::FlushStream();
  HWY_ALIGN uint8_t bytes[HWY_MAX_BYTES] = {};
  hn::Store(hn::Xor(a, b), d, bytes);
  uint8_t sum = 0;
  for (const uint8_t byte : bytes) sum ^= byte;
  return sum;
}

uint8_t MovePlain(const Traffic& chunk, size_t strip, size_t ahead) {
  return MoveChunk<false>(chunk, strip, ahead);
}
uint8_t MoveStreaming(const Traffic& chunk, size_t strip, size_t ahead) {
  return MoveChunk<true>(chunk, strip, ahead);
}

Moves CompiledMoves() { return {MovePlain, MoveStreaming}; }

}  // namespace dequant::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dequant::bench {
namespace {

/// As compiled for the best target of this processor.
Moves best_moves() {
  const std::string_view name = targets().front();
  Moves (*compiled)() = nullptr;
  if (name.starts_with("avx512")) {
    compiled = HWY_CHOOSE_AVX3(CompiledMoves);
  } else if (name == "avx2") {
    compiled = HWY_CHOOSE_AVX2(CompiledMoves);
  } else if (name == "sse4") {
    compiled = HWY_CHOOSE_SSE4(CompiledMoves);
  }
  return compiled != nullptr ? compiled() : HWY_STATIC_DISPATCH(CompiledMoves)();
}

constexpr size_t kChunk = size_t{256} << 10;  // output bytes of a task, as in run()

struct Work {
  const Traffic& traffic;
  const Way& way;
  size_t chunks;
  std::atomic<uint8_t> sum{0};

  /// The part of a read that belongs to chunk i, in whole cache lines.
  std::span<const std::byte> share(std::span<const std::byte> read, size_t i) const {
    const auto at = [&](size_t k) {
      return k == chunks ? read.size() : read.size() / chunks * k / 64 * 64;
    };
    return read.subspan(at(i), at(i + 1) - at(i));
  }

  void run(size_t i) {
    Traffic chunk;
    chunk.write =
        traffic.write.subspan(i * kChunk, std::min(kChunk, traffic.write.size() - i * kChunk));
    for (size_t r = 0; way.reads && r < chunk.reads.size(); ++r) {
      chunk.reads[r] = share(traffic.reads[r], i);
    }
    static const Moves moves = best_moves();
    const uint8_t folded =
        (way.streams ? moves.streaming : moves.plain)(chunk, way.strip, way.ahead);
    sum.fetch_xor(folded, std::memory_order_relaxed);
  }
};

// The fastest variant depends on the machine, on the ratio of reads to writes, and on the load.
constexpr std::array kBeyond{Way{"streaming reads and writes", true, true, 256, 512},
                             Way{"streaming reads and writes", true, true, 256, 2048},
                             Way{"streaming reads and writes", true, true, 1024, 512}};
constexpr std::array kWithin{Way{"plain stores", false, false, kChunk, 0},
                             Way{"streaming stores", false, true, kChunk, 0}};

}  // namespace

std::span<const Way> ways_beyond_caches() noexcept { return kBeyond; }
std::span<const Way> ways_in_caches() noexcept { return kWithin; }

uint8_t move(const Traffic& traffic, const Way& way, Executor executor) {
  Work work{traffic, way, (traffic.write.size() + kChunk - 1) / kChunk};
  const auto task = [](void* context, size_t i) { static_cast<Work*>(context)->run(i); };
  if (executor.parallel_for == nullptr) {
    for (size_t i = 0; i < work.chunks; ++i) task(&work, i);
  } else {
    executor.parallel_for(executor.self, work.chunks, task, &work);
  }
  return work.sum;
}

}  // namespace dequant::bench
#endif
