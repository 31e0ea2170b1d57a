// Kernel calls of one job. Kernels stream to whole cache lines only; KernelCalls brings results to
// the edges of cache lines by ordinary stores or through a buffer.
#pragma once

#include <span>

#include "execute/chunk.h"
#include "execute/codebook.h"
#include "execute/param_window.h"
#include "execute/stages.h"

namespace dequant {

class KernelCalls {
 public:
  explicit KernelCalls(const Job& job) noexcept;

  /// Bytes of a result.
  int64_t y_size() const noexcept { return y_size_; }

  /// Dequantizes `count` codes of type x, which start on a byte, into y. With
  /// ScaleLayout::per_group each `group` elements have one entry of `params`, with per_element each
  /// element. Stores are those of the way; if results are streamed, codes are prefetched
  /// `prefetch_distance` bytes ahead.
  void call(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y, int64_t count,
            int64_t group, const Params& params,
            size_t prefetch_distance = kPrefetchDistanceX) const noexcept;

  /// Rows with parameters of their own, and the distances from one to the next.
  struct Rows {
    int64_t count;
    int64_t columns;  ///< elements of a row
    int64_t codes;    ///< bytes
    int64_t y;        ///< bytes
    int64_t params;   ///< entries; 0: all rows have the same
  };

  /// call() for each row.
  void rows(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y, const Rows& rows,
            int64_t group, const Params& params) const noexcept;

  /// call_cached() for each row, with a scale for each element. Row r has the entries of `params`
  /// from groups[r] * rows.params on.
  void rows_of_groups(Element x, const uint8_t* codes, uint8_t* y, const Rows& rows,
                      std::span<const int32_t> groups, const Params& params) const noexcept;

  /// From the start of a row to the start of the next, in elements of x and of y.
  struct RowStride {
    int64_t x;
    int64_t y;
  };

  /// True if shared() may store results from y on: ordinary stores, or y starts a cache line.
  bool can_share_from(const uint8_t* y) const noexcept;

  /// Dequantizes `rows` rows of `count` elements by the kernel for rows that share scales: element
  /// i of every row has entry i of `params`. Each row starts on a byte.
  void shared(const uint8_t* codes, uint8_t* y, int64_t count, int64_t rows, RowStride stride,
              const Params& params) const noexcept;

  /// call() with ordinary stores, for results in a tile that is copied later.
  void call_cached(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                   int64_t count, int64_t group, const Params& params) const noexcept;

  /// Dequantizes `count` codes by the kernel of a documented rule.
  void formula(Element x, const uint8_t* codes, uint8_t* y, int64_t count,
               const AffineFormula& formula) const noexcept;

 private:
  struct Call;
  /// By the kernel for x.
  Call call_of(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y, int64_t count,
               int64_t group, const Params& params) const noexcept;
  /// call(), or call_cached() where `streams` is false.
  void dequantize(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                  int64_t count, int64_t group, const Params& params, bool streams,
                  size_t prefetch_distance) const noexcept;
  /// True if the results of a call are looked up in tables.
  bool looks_up(Element x, ScaleLayout scale_layout, int64_t count, int64_t group) const noexcept;
  /// call() by tables.
  void call_looked_up(Element x, const uint8_t* codes, uint8_t* y, int64_t count, int64_t group,
                      const Params& params, bool streams) const noexcept;
  KernelFn kernel_of(Element x, ScaleLayout scale_layout) const noexcept;
  void call_special(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                    int64_t count, int64_t group, const Params& params,
                    bool streams) const noexcept;
  void stream(const Call& call) const noexcept;
  void stream_through_buffer(const Call& call) const noexcept;

  const Job& job_;
  bool adds_;
  bool scales_of_y_;
  bool plain_;      ///< no stages and no codebook
  bool few_codes_;  ///< not plain, and codes have four bits at most
  int64_t y_size_;
  Codebook codebook_;
};

}  // namespace dequant
