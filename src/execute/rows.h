// Calling the rows of the kernel table for one job: where streamed results have to go a longer way.
#pragma once

#include "execute/chunk.h"
#include "execute/side_row.h"

namespace dequant {

class Rows {
 public:
  explicit Rows(const Job& job) noexcept;

  /// Bytes of a result.
  int64_t y_size() const noexcept { return y_size_; }

  /// True for runs that kernels do at full speed one after another; shorter ones are better given a
  /// scale for each element.
  bool is_good_run(int64_t run) const noexcept;

  /// Dequantizes `count` codes of x into y. Runs of `run` elements have a scale each, or, with
  /// Leaf::varying, elements. If results are streamed, codes are asked for so many bytes ahead.
  void call(Element x, Leaf leaf, const uint8_t* codes, uint8_t* y, int64_t count, int64_t run,
            const Sides& sides, size_t ahead = kAheadOfX) const noexcept;

  /// How many elements of x and y lie from the start of a row to that of the next one.
  struct Apart {
    int64_t x;
    int64_t y;
  };

  /// True if shared() takes rows that lie so far apart, and if they may start at y.
  bool can_share(Apart rows) const noexcept;
  bool can_share_from(const uint8_t* y) const noexcept;

  /// From so many rows on it pays to make ready what they share.
  static constexpr int64_t kSharedRows = 4;

  /// `rows` rows which start on bytes and have the same scale for each of `count` elements.
  void shared(const uint8_t* codes, uint8_t* y, int64_t count, int64_t rows, Apart apart,
              const Sides& sides) const noexcept;

  /// call() for results that do not go to their place yet.
  void call_cached(Element x, Leaf leaf, const uint8_t* codes, uint8_t* y, int64_t count,
                   int64_t run, const Sides& sides) const noexcept;

  /// The row of a documented rule.
  void line(Element x, const uint8_t* codes, uint8_t* y, int64_t count,
            const Line& line) const noexcept;

 private:
  struct Call;
  RowFn row_of(Element x, Leaf leaf) const noexcept;
  void stream(const Call& call) const noexcept;
  void bounce(const Call& call) const noexcept;

  const Job& job_;
  bool adds_;
  bool scales_of_y_;
  int64_t y_size_;
};

}  // namespace dequant
