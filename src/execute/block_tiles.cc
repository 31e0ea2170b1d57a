// The loop over the tiles of a chunk of blocks.
#include "execute/block_tiles.h"

#include <algorithm>
#include <cstring>

#include "block/traits.h"
#include "checked.h"
#include "element/codes.h"

namespace dequant {
namespace {

/// The most groups of a tile.
constexpr int64_t kGroups = kBlockTile / kLeastBlockGroup;
constexpr auto kSlack = static_cast<int64_t>(Table::kUnpackedSlack);
/// The zero points of codes that have none.
constexpr int32_t kNoZeros[kGroups + kSlack] = {};
/// Elements of a tile whose results are streamed: no result is written while blocks are unpacked.
constexpr int64_t kStreamedTile = 1024;
static_assert(kBlockTile % kMostBlockElements == 0 && kStreamedTile % kMostBlockElements == 0);
/// Bytes from the blocks that are unpacked to the blocks that are prefetched.
constexpr int64_t kPrefetchDistance = 2048;

class Tile {
 public:
  explicit Tile(const Job& job) noexcept
      : job_(job),
        type_(traits(*job.plan.parameters.x_blocks)),
        in_place_(job.table.blocks_in_place ? codes_in_place(*job.plan.parameters.x_blocks) : 0),
        unpack_(job.table.unpack_blocks[static_cast<size_t>(*job.plan.parameters.x_blocks)]),
        output_(output_index(job.plan.output)),
        width_(bits(job.plan.output) / 8),
        has_factors_(job.plan.parameters.tensor_scale != TensorScale::none) {}

  /// The elements of the blocks from element `begin` of the tensor on that are also in
  /// job.elements. A tile of a plan with factors is in one row.
  void run(int64_t begin, int64_t end) noexcept {
    unpack(begin, end);
    if (has_factors_) factor_ = factor_of(begin / job_.plan.axis);
    const Range wanted{std::max(begin, job_.elements.begin), std::min(end, job_.elements.end)};
    auto* y = reinterpret_cast<uint8_t*>(job_.buffers.y.data()) +
              (wanted.begin - job_.elements.begin) * width_;
    const bool whole = wanted == Range{begin, end};
    const bool lines = reinterpret_cast<uintptr_t>(y) % kCacheLine == 0;
    if (whole && (!job_.way.stream || lines)) return compute(y, end - begin, job_.way.stream);
    compute(results_, end - begin, false);
    const uint8_t* from = results_ + (wanted.begin - begin) * width_;
    const auto bytes = static_cast<size_t>((wanted.end - wanted.begin) * width_);
    job_.way.stream ? job_.table.helpers.stream(from, y, bytes)
                    : static_cast<void>(std::memcpy(y, from, bytes));
  }

 private:
  /// The factor of a row of the plan. The buffer begins with that of the first row in job.elements.
  float factor_of(int64_t row) const noexcept {
    const int64_t i = row - job_.elements.begin / job_.plan.axis;
    return float_value(Element::float32, load_code(32, job_.buffers.tensor_scale.data(), i));
  }

  void unpack(int64_t begin, int64_t end) noexcept {
    const auto* x = reinterpret_cast<const uint8_t*>(job_.buffers.x.data()) - job_.x_byte +
                    begin / type_.elements * type_.bytes;
    const int64_t blocks = (end - begin) / type_.elements;
    const auto step = static_cast<int64_t>(4 * job_.table.lanes);
    const bool in_place = in_place_ != 0 && (end - begin) % step == 0;
    if (job_.way.stream) {
      const auto next = reinterpret_cast<uintptr_t>(x) + kPrefetchDistance;
      for (int64_t i = 0; i < blocks * type_.bytes; i += static_cast<int64_t>(kCacheLine)) {
        __builtin_prefetch(reinterpret_cast<const void*>(next + static_cast<uintptr_t>(i)));
      }
    }
    const UnpackedBlocks to{codes_, scales_, offsets_, in_place};
    unpack_(x, static_cast<size_t>(blocks), to);
    finite_ = finite(scales_, end - begin) && (!type_.has_offsets || finite(offsets_, end - begin));
    if (in_place && !finite_) unpack_(x, static_cast<size_t>(blocks), {codes_, scales_, offsets_});
    const bool apart = in_place && finite_;
    x_ = apart ? x + in_place_ : reinterpret_cast<const uint8_t*>(codes_);
    apart_ = static_cast<size_t>(apart ? type_.bytes : type_.group);
  }

  bool finite(const float* values, int64_t elements) const noexcept {
    const auto groups = static_cast<size_t>(elements / type_.group);
    return job_.table.helpers.all_finite_normal(values, groups, true);
  }

  /// The results of the first `count` codes.
  void compute(uint8_t* y, int64_t count, bool stream) noexcept {
    if (!has_factors_) return call(output_, y, count, stream);
    call(output_index(Element::float32), reinterpret_cast<uint8_t*>(products_), count, false);
    job_.table.helpers.after_product[output_index(Element::float32)][output_](
        {.products = products_,
         .y = y,
         .count = static_cast<size_t>(count),
         .factor = factor_,
         .stream = stream});
  }

  void call(size_t output, uint8_t* y, int64_t count, bool stream) const noexcept {
    const Table& table = job_.table;
    const bool adds = type_.has_offsets;
    (adds ? table.block_sums
          : table.block_products)[output]({.x = x_,
                                           .y = y,
                                           .count = static_cast<size_t>(count),
                                           .group = static_cast<size_t>(type_.group),
                                           .scale = scales_,
                                           .zero = kNoZeros,
                                           .stream = stream,
                                           .finite_normal = finite_,
                                           .offset = adds ? offsets_ : nullptr,
                                           .x_row = apart_});
  }

  const Job& job_;
  const BlockTraits& type_;
  int64_t in_place_;  ///< where codes are in a block, 0 if they are unpacked
  UnpackBlocksFn unpack_;
  size_t output_;
  int64_t width_;  ///< bytes of a result
  bool has_factors_;
  float factor_ = 1;
  const uint8_t* x_ = nullptr;  ///< the codes of the tile
  size_t apart_ = 0;            ///< bytes from the codes of a group to those of the next
  bool finite_ = false;         ///< scales and offsets are finite and normal
  // Not initialized: zeros would take as long as a small tensor. Kernels may read behind the last
  // group, and drop what they computed from that.
  alignas(64) int8_t codes_[kBlockTile + kSlack];
  alignas(64) float scales_[kGroups + kSlack];
  alignas(64) float offsets_[kGroups + kSlack];
  alignas(64) float products_[kBlockTile];
  alignas(64) uint8_t results_[kBlockTile * sizeof(float)];
};

}  // namespace

void run_blocks(const Job& job, int64_t first) noexcept {
  const int64_t elements = block_elements(*job.plan.parameters.x_blocks);
  const int64_t begin = job.elements.begin / elements * elements + first;
  // The last block is whole in x, whatever of it the range has.
  const int64_t last = ceil_div(job.elements.end, elements) * elements;
  const int64_t end = std::min(begin + job.way.chunk, last);
  Tile tile(job);
  const int64_t size = job.way.stream ? kStreamedTile : kBlockTile;
  const bool one_row = job.plan.parameters.tensor_scale != TensorScale::none;
  for (int64_t i = begin; i < end;) {
    int64_t next = std::min(i + size, end);
    if (one_row) next = std::min(next, (i / job.plan.axis + 1) * job.plan.axis);
    tile.run(i, next);
    i = next;
  }
}

}  // namespace dequant
