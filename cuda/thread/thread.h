// What one thread of a kernel does. Bodies compile for the host as well, where a launch is a loop
// over threads; no thread waits for another, and there is no shared memory.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/plan/thread_tiles.h"
#include "cuda/thread/arithmetic.h"
#include "cuda/thread/vectors.h"

namespace dequant::cuda {

/// The elements of one thread: `count` from `first` on, at most a vector; none if count is 0.
struct Work {
  int64_t first;
  int count;
};

DEQUANT_HD inline Work clipped(const Computation& p, int64_t begin, int64_t end) noexcept {
  const int64_t first = begin < p.elements.begin ? p.elements.begin : begin;
  const int64_t last = end > p.elements.end ? p.elements.end : end;
  return {first, last > first ? static_cast<int>(last - first) : 0};
}

/// Vectors begin at multiples of their size, so that ranges cut them alike.
template <int kCount>
DEQUANT_HD inline Work vector_of(const Computation& p, int64_t thread) noexcept {
  const int64_t begin = (p.elements.begin / kCount + thread) * kCount;
  return clipped(p, begin, begin + kCount);
}

template <int kCount>
DEQUANT_HD inline Work work_of(const DevicePlan& p, int64_t thread) noexcept {
  if (!p.tiles) return vector_of<kCount>(p, thread);
  const int64_t inner = p.dimensions[p.rank - 1].size;
  const int64_t tile = thread / kTileThreads;
  const int64_t tile_row = p.by_tiles_of_row.quotient(tile);
  const int lane = static_cast<int>(thread % kTileThreads);
  const int64_t row = p.first_row + tile_row * kTileRows + lane % kTileRows;
  const int64_t vector = (tile - tile_row * p.tiles_of_row) * kTileVectors + lane / kTileRows;
  const int64_t begin = vector * kCount;
  if (begin >= inner) return {0, 0};
  const int64_t end = begin + kCount < inner ? begin + kCount : inner;
  return clipped(p, row * inner + begin, row * inner + end);
}

/// Where an element lies, and its neighbours in the innermost dimension.
struct Spot {
  Positions at;
  int64_t index = 0;  ///< in the innermost dimension
  int64_t block = 0;  ///< the number of its block
  int64_t left = 0;   ///< elements to the end of the innermost dimension
};

DEQUANT_HD inline Spot locate(const DevicePlan& p, int64_t element) noexcept {
  Spot spot{p.origin};
  int64_t rest = element;
  for (int d = p.rank - 1; d >= 0; --d) {
    const DeviceDimension& of = p.dimensions[d];
    const int64_t outer = d == 0 ? 0 : of.by_size.quotient(rest);
    const int64_t index = rest - outer * of.size;
    const int64_t block = of.block == 1 ? index : of.by_block.quotient(index);
    rest = outer;
    spot.at.x += index * of.x;
    spot.at.scale += block * of.scale;
    spot.at.zero_point += block * of.zero_point;
    spot.at.y += index * of.y;
    spot.at.group_index += index * of.group_index;
    if (d == p.rank - 1) {
      spot.index = index;
      spot.block = block;
      spot.left = of.size - index;
    }
  }
  return spot;
}

/// The parameters of an element by its positions.
DEQUANT_HD inline Params params_of(const DevicePlan& p, const Positions& at) noexcept {
  if (p.groups.groups == 0) return params_at(p, at.scale, at.zero_point);
  const auto group = static_cast<int32_t>(load_word(p.group_index + at.group_index * 4));
  if (group < 0 || group >= p.groups.groups) {
    report(p, Fault::group_index);
    return {std::numeric_limits<float>::quiet_NaN(), 0};
  }
  return params_at(p, at.scale + group * p.groups.scale,
                   at.zero_point + group * p.groups.zero_point);
}

/// True if the next `count` elements have the parameters of the first.
DEQUANT_HD inline bool share_params(const DeviceDimension& d, const Spot& spot,
                                    int count) noexcept {
  if (d.group_index != 0) return false;
  if (d.scale == 0 && d.zero_point == 0) return true;
  return spot.index + count <= (spot.block + 1) * d.block;
}

/// Neighbours in the innermost dimension.
template <int kCount>
DEQUANT_HD inline void run_vector(const DevicePlan& p, const Spot& spot) noexcept {
  constexpr int kBytes = 16 / kCount;
  const DeviceDimension& d = p.dimensions[p.rank - 1];
  Vector<uint32_t, kCount> codes;
  if (d.x == 1) {
    load_codes(p.x, spot.at.x, codes);
  } else {
    for (int j = 0; j < kCount; ++j) codes[j] = quick_code_at(p.x, spot.at.x + j * d.x);
  }
  Vector<Params, kCount> params;
  if (share_params(d, spot, kCount)) {
    const Params all = params_of(p, spot.at);
    for (int j = 0; j < kCount; ++j) params[j] = all;
  } else {
    for (int j = 0; j < kCount; ++j) {
      Positions at = spot.at;
      const int64_t block = d.block == 1 ? spot.index + j : d.by_block.quotient(spot.index + j);
      at.scale += (block - spot.block) * d.scale;
      at.zero_point += (block - spot.block) * d.zero_point;
      at.group_index += j * d.group_index;
      params[j] = params_of(p, at);
    }
  }
  Vector<float, kCount> y;
  results(p, codes, params, y);
  Vector<uint32_t, kCount> outputs;
  for (int j = 0; j < kCount; ++j) outputs[j] = narrow(p.output, y[j]);
  uint8_t* to = p.y + spot.at.y * kBytes;
  if (d.y == 1) return store_vector(to, outputs);
  for (int j = 0; j < kCount; ++j) store_one<kBytes>(to + j * d.y * kBytes, outputs[j]);
}

template <int kBytes>
DEQUANT_HD inline void run_one(const DevicePlan& p, const Spot& spot) noexcept {
  const Vector<uint32_t, 1> codes{code_at(p.x, spot.at.x)};
  const Vector<Params, 1> params{params_of(p, spot.at)};
  Vector<float, 1> y;
  results(p, codes, params, y);
  store_one<kBytes>(p.y + spot.at.y * kBytes, narrow(p.output, y[0]));
}

/// The body of the kernel of elements; kCount of them are a vector.
template <int kCount>
DEQUANT_HD inline void run_thread(const DevicePlan& p, int64_t thread) noexcept {
  const Work work = work_of<kCount>(p, thread);
  if (work.count == 0) return;
  const Spot spot = locate(p, work.first);
  if (work.count == kCount && spot.left >= kCount) return run_vector<kCount>(p, spot);
  for (int j = 0; j < work.count; ++j) {
    run_one<16 / kCount>(p, j == 0 ? spot : locate(p, work.first + j));
  }
}

}  // namespace dequant::cuda
