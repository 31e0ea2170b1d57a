// Calling the kernels of the table for one job: where streamed results have to go a longer way.
#pragma once

#include "execute/chunk.h"
#include "execute/param_window.h"

namespace dequant {

class KernelCalls {
 public:
  explicit KernelCalls(const Job& job) noexcept;

  /// Bytes of a result.
  int64_t y_size() const noexcept { return y_size_; }

  /// Dequantizes `count` codes of x into y. Groups of `group` elements have a scale each, or, with
  /// ScaleLayout::per_element, elements. If results are streamed, codes are prefetched so many
  /// bytes ahead.
  void call(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y, int64_t count,
            int64_t group, const Params& params,
            size_t prefetch_distance = kPrefetchDistanceX) const noexcept;

  /// How many elements of x and y lie from the start of a row to that of the next one.
  struct Apart {
    int64_t x;
    int64_t y;
  };

  /// True if shared() may store results from y on: streaming needs the start of a cache line.
  bool can_share_from(const uint8_t* y) const noexcept;

  /// `rows` rows which start on bytes and have the same scale for each of `count` elements.
  void shared(const uint8_t* codes, uint8_t* y, int64_t count, int64_t rows, Apart apart,
              const Params& params) const noexcept;

  /// call() for results that do not go to their place yet.
  void call_cached(Element x, ScaleLayout scale_layout, const uint8_t* codes, uint8_t* y,
                   int64_t count, int64_t group, const Params& params) const noexcept;

  /// The kernel of a documented rule.
  void formula(Element x, const uint8_t* codes, uint8_t* y, int64_t count,
               const AffineFormula& formula) const noexcept;

 private:
  struct Call;
  KernelFn kernel_of(Element x, ScaleLayout scale_layout) const noexcept;
  void stream(const Call& call) const noexcept;
  void bounce(const Call& call) const noexcept;

  const Job& job_;
  bool adds_;
  bool scales_of_y_;
  bool float_zero_points_;
  int64_t y_size_;
};

}  // namespace dequant
