// A kernel that streams needs results that start with a cache line. Where y does not, the elements
// before the first cache line are stored by ordinary stores. Where that is impossible, because
// groups start within cache lines, results go through a small buffer.
#include "execute/kernel_calls.h"

#include <algorithm>

#include "checked.h"
#include "execute/ranges.h"
#include "execute/result_tables.h"
#include "execute/tiles.h"
#include "kernel/lut.h"

namespace dequant {
namespace {

constexpr auto kCacheLineBytes = static_cast<int64_t>(kCacheLine);
/// Results that stream_through_buffer() buffers at once.
constexpr int64_t kBufferBytes = 8192;

}  // namespace

/// The arguments of call(), in the terms of KernelArgs.
struct KernelCalls::Call {
  KernelFn kernel;
  ScaleLayout scale_layout;
  int64_t width;  ///< bits of a code
  const float* lut;
  const uint8_t* codes;
  uint8_t* y;
  int64_t count;
  int64_t group;
  Params params;
  bool scales_of_y;
  size_t prefetch_distance = kPrefetchDistanceX;

  bool one_group() const { return scale_layout == ScaleLayout::per_group && group >= count; }

  /// True if a call may be split at any element, as no group starts within it.
  bool no_groups() const { return scale_layout == ScaleLayout::per_element || one_group(); }

  /// True if all steps of the kernel store whole cache lines. Groups of at most two vectors share
  /// steps.
  bool whole_lines(int64_t y_size, size_t lanes) const {
    return no_groups() || group * y_size % kCacheLineBytes == 0 ||
           group <= 2 * static_cast<int64_t>(lanes);
  }

  KernelArgs args(bool stream) const {
    return {.x = codes,
            .y = y,
            .count = static_cast<size_t>(count),
            .group = static_cast<size_t>(group),
            .scale = params.scale,
            .zero = params.zero,
            .lut = lut,
            .stream = stream,
            .prefetch_distance = prefetch_distance,
            .finite_normal = params.finite_normal,
            .scales_of_y = scales_of_y,
            .offset = params.offset,
            .scale16 = params.scale16,
            .zero16 = params.zero16};
  }

  void operator()(bool stream) const { kernel(args(stream)); }

  /// The call for `n` elements from element i on: whole groups, or elements of one group.
  Call span(int64_t i, int64_t n, int64_t y_size) const {
    Call out = *this;
    out.codes += i * width / 8;
    out.y += i * y_size;
    out.count = n;
    out.params = advanced(params, scale_layout == ScaleLayout::per_element ? i : i / group);
    return out;
  }
};

KernelCalls::KernelCalls(const Job& job) noexcept
    : job_(job),
      adds_(adds_offset(job.plan.rule)),
      scales_of_y_(scales_are_of_output(job.plan)),
      plain_(!job.way.stages && !job.plan.parameters.codebook),
      few_codes_(!plain_ && code_bits(job.plan) <= 4),
      y_size_(bits(job.plan.output) / 8) {
  if (job.plan.parameters.codebook) codebook_.load(job.plan, job.buffers);
}

KernelCalls::Call KernelCalls::call_of(Element x, ScaleLayout scale_layout, const uint8_t* codes,
                                       uint8_t* y, int64_t count, int64_t group,
                                       const Params& params) const noexcept {
  return {kernel_of(x, scale_layout),
          scale_layout,
          bits(x),
          lut_of(x),
          codes,
          y,
          count,
          group,
          params,
          scales_of_y_};
}

void KernelCalls::call(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                       int64_t count, int64_t group, const Params& params,
                       size_t prefetch_distance) const noexcept {
  dequantize(x, scale_layout, codes, y, count, group, params, job_.way.stream, prefetch_distance);
}

void KernelCalls::call_cached(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                              int64_t count, int64_t group, const Params& params) const noexcept {
  dequantize(x, scale_layout, codes, y, count, group, params, false, kPrefetchDistanceX);
}

void KernelCalls::dequantize(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                             int64_t count, int64_t group, const Params& params, bool streams,
                             size_t prefetch_distance) const noexcept {
  if (few_codes_ && looks_up(x, scale_layout, count, group)) {
    return call_looked_up(x, codes, y, count, group, params, streams);
  }
  if (!plain_) return call_special(x, scale_layout, codes, y, count, group, params, streams);
  Call c = call_of(x, scale_layout, codes, y, count, group, params);
  c.prefetch_distance = prefetch_distance;
  streams ? stream(c) : c(false);
}

void KernelCalls::rows(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                       const Rows& rows, int64_t group, const Params& params) const noexcept {
  const Call first = call_of(x, scale_layout, codes, y, rows.columns, group, params);
  const bool on_lines = rows.y % kCacheLineBytes == 0 && can_share_from(y) &&
                        first.whole_lines(y_size_, job_.table.lanes);
  if (!plain_ || (job_.way.stream && !on_lines)) {
    for (int64_t r = 0; r < rows.count; ++r) {
      call(x, scale_layout, codes + r * rows.codes, y + r * rows.y, rows.columns, group,
           advanced(params, r * rows.params));
    }
    return;
  }
  KernelArgs args = first.args(job_.way.stream);
  for (int64_t r = 0; r < rows.count; ++r) {
    first.kernel(args);
    args.x += rows.codes;
    args.y += rows.y;
    args.scale += rows.params;
    args.zero += rows.params;
  }
}

void KernelCalls::rows_of_groups(Element x, const uint8_t* codes, uint8_t* y, const Rows& rows,
                                 std::span<const int32_t> groups,
                                 const Params& params) const noexcept {
  constexpr auto kLayout = ScaleLayout::per_element;
  if (!plain_) {
    for (int64_t r = 0; r < rows.count; ++r) {
      const Params own = advanced(params, groups[static_cast<size_t>(r)] * rows.params);
      call_special(x, kLayout, codes + r * rows.codes, y + r * rows.y, rows.columns, 1, own, false);
    }
    return;
  }
  const Call first = call_of(x, kLayout, codes, y, rows.columns, 1, params);
  KernelArgs args = first.args(false);
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t param = groups[static_cast<size_t>(r)] * rows.params;
    args.scale = params.scale + param;
    args.zero = params.zero + param;
    first.kernel(args);
    args.x += rows.codes;
    args.y += rows.y;
  }
}

bool KernelCalls::looks_up(Element x, ScaleLayout scale_layout, int64_t count,
                           int64_t group) const noexcept {
  using enum Element;
  const Element input = job_.plan.input;
  const Element y = job_.plan.output;
  const bool in_bytes = bits(x) == 8 && (input == uint8 || input == uint4 || input == uint2);
  if (scale_layout != ScaleLayout::per_group || !can_have_tables(group, count)) return false;
  if (count < 32 || (bits(x) != 4 && !in_bytes)) return false;
  // A table of float32 for 32 elements saves nothing: checkpoint/uint4/float32/rounded_of_32.
  if (job_.way.stages) {
    return (group > 32 || y != float32) && look_up_of(job_.table.helpers, bits(x), y) != nullptr;
  }
  // Kernels of codebooks look up float32 values. With vectors of eight lanes or fewer, tables of
  // rounded results are faster: checkpoint/uint8/*16/codebook_of_64.
  return y != float32 && group > 32 && job_.table.lanes <= 8;
}

void KernelCalls::call_looked_up(Element x, const uint8_t* codes, uint8_t* y, int64_t count,
                                 int64_t group, const Params& params, bool streams) const noexcept {
  const Helpers& helpers = job_.table.helpers;
  const LookUps look_ups{look_up_of(helpers, bits(x), job_.plan.output), bits(x), y_size_, helpers,
                         streams};
  alignas(64) uint8_t tables[kTableBytes];
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = std::min(count - i, group >= count ? count : kTables * group);
    call_cached(x, ScaleLayout::per_group, all_codes(bits(x)), tables,
                ceil_div(n, group) * kTableEntries, kTableEntries, advanced(params, i / group));
    look_up_results(look_ups, codes + i * bits(x) / 8, y + i * y_size_, n, group, tables);
  }
}

bool KernelCalls::can_share_from(const uint8_t* y) const noexcept {
  return !job_.way.stream || reinterpret_cast<uintptr_t>(y) % kCacheLine == 0;
}

void KernelCalls::shared(const uint8_t* codes, uint8_t* y, int64_t count, int64_t rows,
                         RowStride stride, const Params& params) const noexcept {
  const Element x = job_.plan.input;
  const int64_t x_row = stride.x * bits(x) / 8;
  // Codes are prefetched whole rows ahead. A row takes a cache line at least.
  const int64_t row_bytes = std::max(count * bits(x) / 8, kCacheLineBytes);
  const int64_t prefetch_distance = ceil_div(int64_t{kPrefetchDistanceX}, row_bytes) * x_row;
  job_.table.shared_at(
      x, job_.plan.output)({.x = codes,
                            .y = y,
                            .count = static_cast<size_t>(count),
                            .scale = params.scale,
                            .zero = params.zero,
                            .lut = lut_of(x),
                            .stream = job_.way.stream,
                            .prefetch_distance = static_cast<size_t>(prefetch_distance),
                            .finite_normal = params.finite_normal,
                            .scales_of_y = scales_of_y_,
                            .rows = static_cast<size_t>(rows),
                            .x_row = static_cast<size_t>(x_row),
                            .y_row = static_cast<size_t>(stride.y * y_size_)});
}

KernelFn KernelCalls::kernel_of(Element x, ScaleLayout scale_layout) const noexcept {
  const Element y = job_.plan.output;
  return adds_ ? job_.table.range_at(x, y, scale_layout) : job_.table.at(x, y, scale_layout);
}

void KernelCalls::call_special(Element x, ScaleLayout scale_layout, const uint8_t* codes,
                               uint8_t* y, int64_t count, int64_t group, const Params& params,
                               bool streams) const noexcept {
  const Table& table = job_.table;
  const bool codebook = job_.plan.parameters.codebook;
  const auto kernel = [&](Element output, ScaleLayout layout) {
    return codebook ? table.codebook_at(codebook_.is_small(), output, layout)
                    : table.at(x, output, layout);
  };
  const float* lut = codebook ? codebook_.values() : lut_of(x);
  Params own = params;
  own.finite_normal = params.finite_normal && (!codebook || codebook_.finite_normal());
  if (job_.way.stages) {
    const ProductKernel products{kernel(Element::float32, scale_layout),
                                 kernel(Element::float32, ScaleLayout::per_group), lut, bits(x)};
    return run_stages({job_.plan, table, streams}, products, scale_layout, codes, y, count, group,
                      own);
  }
  Call c = call_of(x, scale_layout, codes, y, count, group, own);
  c.kernel = kernel(job_.plan.output, scale_layout);
  c.lut = lut;
  streams ? stream(c) : c(false);
}

void KernelCalls::stream(const Call& c) const noexcept {
  const int64_t past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(c.y) % kCacheLine);
  const bool no_groups = c.no_groups();
  if (past == 0 && c.whole_lines(y_size_, job_.table.lanes)) return c(true);
  const int64_t head = (kCacheLineBytes - past) / y_size_;
  // Elements that end with a cache line of y and with a byte of x.
  const bool head_is_whole = past % y_size_ == 0 && head * c.width % 8 == 0;
  if (no_groups && head_is_whole) {
    if (head >= c.count) return c(false);
    c.span(0, head, y_size_)(false);
    return c.span(head, c.count - head, y_size_)(true);
  }
  if (!no_groups && c.group >= kLongGroup) {
    for (int64_t i = 0; i < c.count; i += c.group) {
      stream(c.span(i, std::min(c.group, c.count - i), y_size_));
    }
    return;
  }
  stream_through_buffer(c);
}

void KernelCalls::formula(Element x, const uint8_t* codes, uint8_t* y, int64_t count,
                          const AffineFormula& formula) const noexcept {
  // Codes are whole bytes and results four: a call can always be split at the first cache line.
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(y) % kCacheLine);
  const bool split = job_.way.stream && past != 0 && past % y_size_ == 0;
  const int64_t head = split ? std::min(count, (kCacheLineBytes - past) / y_size_) : 0;
  const KernelFn kernel = job_.table.formula_at(x);
  const auto call_span = [&](int64_t from, int64_t n) {
    if (n == 0) return;
    KernelArgs args{codes + from * bits(x) / 8, y + from * y_size_, static_cast<size_t>(n)};
    args.stream = job_.way.stream;
    args.formula = &formula;
    kernel(args);
  };
  call_span(0, head);
  call_span(head, count - head);
}

void KernelCalls::stream_through_buffer(const Call& c) const noexcept {
  alignas(64) uint8_t buffer[kBufferBytes];
  const int64_t capacity = kBufferBytes / y_size_;
  int64_t count = 0;
  for (int64_t i = 0; i < c.count; i += count) {
    count = tile_size(c.scale_layout, i, c.count, c.group, capacity);
    Call buffered = c.span(i, count, y_size_);
    buffered.y = buffer;
    buffered(false);
    job_.table.helpers.stream(buffer, c.y + i * y_size_, static_cast<size_t>(count * y_size_));
  }
}

}  // namespace dequant
