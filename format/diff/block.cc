// The arithmetic of a comparison: one block of two tensors.
#include "format/diff/block.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "format/diff/steps.h"
#include "format/model/floats.h"

namespace dequant::format {
namespace {

/// Elements of a tile. Several passes read a tile: as float32 those of both tensors fit in the
/// level 1 cache.
constexpr size_t kTile = 2048;
/// Independent sums, so that compilers vectorize the additions.
constexpr size_t kLanes = 8;

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

bool is_finite(float value) { return (bits_of(value) & 0x7f800000u) != 0x7f800000u; }

/// A tile of both tensors, as float32.
struct Tile {
  std::span<float> a;
  std::span<float> b;
  int64_t index;

  BlockDifference::Pair pair(size_t i) const {
    return {index + static_cast<int64_t>(i), a[i], b[i]};
  }
};

bool all_finite(std::span<const float> values) {
  uint32_t special = 0;
  for (const float v : values) special |= static_cast<uint32_t>(!is_finite(v));
  return special == 0;
}

/// Counts mismatches, and replaces pairs by zeros where one number is not finite.
void take_out_specials(const Tile& tile, BlockDifference& block) {
  for (size_t i = 0; i < tile.a.size(); ++i) {
    float& a = tile.a[i];
    float& b = tile.b[i];
    if (is_finite(a) && is_finite(b)) continue;
    if (is_mismatch(a, b)) {
      ++(std::isnan(a) != std::isnan(b) ? block.nans : block.infinities);
      if (!block.first_mismatch) block.first_mismatch = tile.pair(i);
    }
    a = b = 0;
  }
}

struct Lanes {
  double errors[kLanes]{};
  double noise[kLanes]{};
  double signal[kLanes]{};
  double largest[kLanes]{};
};

double sum(const double (&lanes)[kLanes]) {
  double total = 0;
  for (const double lane : lanes) total += lane;
  return total;
}

void add_error(Lanes& lanes, size_t lane, double a, double b) {
  const double error = std::abs(b - a);
  lanes.errors[lane] += error;
  lanes.noise[lane] += error * error;
  lanes.signal[lane] += a * a;
  lanes.largest[lane] = error > lanes.largest[lane] ? error : lanes.largest[lane];
}

void add_errors(const Tile& tile, BlockDifference& block) {
  Lanes lanes;
  const size_t size = tile.a.size();
  const size_t whole = size / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane)
      add_error(lanes, lane, double{tile.a[i + lane]}, double{tile.b[i + lane]});
  }
  for (size_t i = whole; i < size; ++i)
    add_error(lanes, i - whole, double{tile.a[i]}, double{tile.b[i]});
  block.errors += sum(lanes.errors);
  block.noise += sum(lanes.noise);
  block.signal += sum(lanes.signal);
  const double largest = *std::max_element(lanes.largest, lanes.largest + kLanes);
  if (largest <= block.largest) return;
  for (size_t i = 0;; ++i) {
    if (std::abs(double{tile.b[i]} - double{tile.a[i]}) != largest) continue;
    block.largest = largest;
    block.largest_at = tile.pair(i);
    return;
  }
}

template <Element kType>
void add_steps(const Tile& tile, BlockDifference& block) {
  for (size_t i = 0; i < tile.a.size(); ++i) {
    const uint32_t a = bits_of(tile.a[i]);
    const uint32_t b = bits_of(tile.b[i]);
    if (a == b) continue;
    const uint32_t steps = steps_between<kType>(a, b);
    ++block.ulp[step_bin(steps)];
    block.max_ulp = std::max(block.max_ulp, steps);
  }
}

void add_steps(Element type, const Tile& tile, BlockDifference& block) {
  if (type == Element::float32) return add_steps<Element::float32>(tile, block);
  if (type == Element::float16) return add_steps<Element::float16>(tile, block);
  add_steps<Element::bfloat16>(tile, block);
}

int64_t count_same_bits(const Tile& tile) {
  int64_t same = 0;
  for (size_t i = 0; i < tile.a.size(); ++i) same += bits_of(tile.a[i]) == bits_of(tile.b[i]);
  return same;
}

}  // namespace

bool is_mismatch(float a, float b) {
  if (is_finite(a) && is_finite(b)) return false;
  return bits_of(a) != bits_of(b) && !(std::isnan(a) && std::isnan(b));
}

BlockDifference compare_block(Element a_type, std::span<const std::byte> a, Element b_type,
                              std::span<const std::byte> b, int64_t index) {
  BlockDifference block;
  const Element ulp = coarser(a_type, b_type);
  const size_t a_bytes = static_cast<size_t>(bits(a_type)) / 8;
  const size_t b_bytes = static_cast<size_t>(bits(b_type)) / 8;
  const size_t count = a.size() / a_bytes;
  float a_values[kTile];
  float b_values[kTile];
  for (size_t begin = 0; begin < count; begin += kTile) {
    const size_t size = std::min(kTile, count - begin);
    const Tile tile{std::span(a_values).first(size), std::span(b_values).first(size),
                    index + static_cast<int64_t>(begin)};
    widen(a_type, a.subspan(begin * a_bytes), tile.a);
    widen(b_type, b.subspan(begin * b_bytes), tile.b);
    const int64_t before = block.nans + block.infinities;
    if (!all_finite(tile.a) || !all_finite(tile.b)) take_out_specials(tile, block);
    const int64_t same = count_same_bits(tile);
    block.identical += same - (block.nans + block.infinities - before);
    add_errors(tile, block);
    if (same < static_cast<int64_t>(size)) add_steps(ulp, tile, block);
  }
  block.ulp[0] += block.identical;
  return block;
}

}  // namespace dequant::format
