// A cell with buffers.
#include "bench/measure/workload.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>

#include "dequant/tensor.h"

namespace dequant::bench {
namespace {

constexpr int64_t kLine = 64;

/// Bytes of each tensor of a plan.
struct Sizes {
  int64_t x, scale, zero_point, min_range, max_range, y, group_index, codebook;
  int64_t sum() const {
    return x + scale + zero_point + min_range + max_range + y + group_index + codebook;
  }
};

Result<Sizes> sizes_of(const Plan& plan) {
  const Extents e = extents(plan);
  const int64_t x = x_bytes_of(plan, {0, e.x}).end;
  const int64_t zero_point = zero_point_bytes_of(plan, {0, e.zero_point}).end;
  DEQUANT_TRY(const auto scale, packed_bytes(plan.scale, e.scale));
  DEQUANT_TRY(const auto min_range, packed_bytes(plan.scale, e.min_range));
  DEQUANT_TRY(const auto max_range, packed_bytes(plan.scale, e.max_range));
  DEQUANT_TRY(const auto y, packed_bytes(plan.output, e.y));
  DEQUANT_TRY(const auto group_index, packed_bytes(Element::int32, e.group_index));
  DEQUANT_TRY(const auto codebook, packed_bytes(Element::float32, e.codebook));
  return Sizes{x, scale, zero_point, min_range, max_range, y, group_index, codebook};
}

Fill fill_of(Element element) {
  switch (element) {
    case Element::float32: return Fill::float32;
    case Element::float16: return Fill::float16;
    case Element::bfloat16: return Fill::bfloat16;
    default: return Fill::codes;
  }
}

/// Bytes of x that the processor reads from memory. Gaps shorter than a cache line are included,
/// because the processor reads whole cache lines.
int64_t bytes_read_of_x(const Plan& plan, int64_t x_bytes) {
  if (plan.granularity != Granularity::strided) return x_bytes;
  if (plan.parameters.x_packing != Packing{}) return x_bytes;
  std::vector<Dimension> dimensions = plan.dimensions;
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension& a, const Dimension& b) { return std::abs(a.x) < std::abs(b.x); });
  int64_t stretch = 1;  // elements without a gap of a cache line or more between them
  int64_t stretches = 1;
  for (const Dimension& d : dimensions) {
    const int64_t stride = std::abs(d.x);
    if (d.size <= 1 || stride == 0) continue;
    const bool together = (stride - stretch) * bits(plan.input) < kLine * 8;
    if (together && stretches == 1) {
      stretch += stride * (d.size - 1);
    } else {
      stretches *= d.size;
    }
  }
  return std::min(x_bytes, stretches * stretch * bits(plan.input) / 8);
}

std::string gibibytes(int64_t bytes) {
  const int64_t tenths = (bytes + (int64_t{1} << 30) / 20) / ((int64_t{1} << 30) / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

}  // namespace

void Memories::release() noexcept {
  for (Memory* m : all()) m->release();
}

Result<Buffers> Memories::prepare(const Plan& plan) {
  DEQUANT_TRY(const Sizes sizes, sizes_of(plan));
  int64_t held = 0;
  for (const Memory* m : all()) held += m->held();
  const int64_t available = available_memory();
  if (sizes.sum() > available + held) {
    return Error{ErrorCode::out_of_memory, "the tensors take " + gibibytes(sizes.sum()) +
                                               ", the machine has " + gibibytes(available + held) +
                                               " free"};
  }
  // The memory of an earlier plan may be too large to keep.
  if (sizes.sum() > available) release();
  const Fill scale = fill_of(plan.scale);
  const Fill codes = plan.parameters.x_blocks ? Fill::blocks
                     : bits(plan.input) == 32 ? Fill::wide_codes
                                              : Fill::codes;
  DEQUANT_TRY(const auto x, x_.get(sizes.x, codes));
  DEQUANT_TRY(const auto s, scale_.get(sizes.scale, scale));
  const bool float_zeros = kind(zero_point_element(plan)) == Kind::floating;
  const Fill zeros = float_zeros ? fill_of(zero_point_element(plan)) : codes;
  DEQUANT_TRY(const auto z, zero_point_.get(sizes.zero_point, zeros));
  DEQUANT_TRY(const auto min, min_range_.get(sizes.min_range, scale));
  DEQUANT_TRY(const auto max, max_range_.get(sizes.max_range, scale));
  DEQUANT_TRY(const auto y, y_.get(sizes.y, Fill::nothing));
  const Fill groups = plan.parameters.group_index.groups > 1 ? Fill::groups : Fill::nothing;
  DEQUANT_TRY(const auto index, group_index_.get(sizes.group_index, groups));
  DEQUANT_TRY(const auto book, codebook_.get(sizes.codebook, Fill::float32));
  return Buffers{x, s, z, y, min, max, {}, index, book};
}

Result<int64_t> bytes_needed(const Plan& plan) {
  DEQUANT_TRY(const Sizes sizes, sizes_of(plan));
  return sizes.sum();
}

Result<Workload> Workload::make(const Cell& cell, int64_t elements, Memories& memories) {
  Workload w;
  w.plan = cell.plan(elements);
  w.elements = element_count(w.plan);
  auto buffers = memories.prepare(w.plan);
  if (!buffers) {
    return Error{buffers.error().code, cell.name + " with " + std::to_string(w.elements) +
                                           " elements: " + buffers.error().message};
  }
  w.buffers = *buffers;
  const Buffers& b = w.buffers;
  const int64_t y_bytes = w.elements * bits(w.plan.output) / 8;
  const int64_t x_bytes = bytes_read_of_x(w.plan, static_cast<int64_t>(b.x.size()));
  w.traffic = {
      {b.x.first(static_cast<size_t>(x_bytes)), b.scale, b.zero_point, b.min_range, b.max_range},
      b.y.first(static_cast<size_t>(y_bytes))};
  w.bytes = std::accumulate(
      w.traffic.reads.begin(), w.traffic.reads.end(), y_bytes,
      [](int64_t sum, auto read) { return sum + static_cast<int64_t>(read.size()); });
  w.beyond_caches = static_cast<int64_t>(b.y.size()) > last_level_cache_bytes();
  return w;
}

}  // namespace dequant::bench
