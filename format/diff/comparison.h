// Comparing two tensors, band by band.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dequant/executor.h"
#include "dequant/tensor.h"
#include "format/diff/difference.h"

namespace dequant::format {

/// The difference of one block of elements.
struct BlockDifference {
  /// A pair of elements, and their row-major index.
  struct Pair {
    int64_t index = 0;
    float a = 0;
    float b = 0;
  };
  int64_t identical = 0;
  int64_t nans = 0;
  int64_t infinities = 0;
  std::optional<Pair> first_mismatch;
  double largest = 0;  ///< the largest error
  std::optional<Pair> largest_at;
  double errors = 0;  ///< sum of errors
  double noise = 0;   ///< sum of squared errors
  double signal = 0;  ///< sum of squares of a
  uint32_t max_ulp = 0;
  std::array<int64_t, kStepBins> ulp{};
};

/// Compares two tensors of one shape, each of float32, float16 or bfloat16. The result depends
/// neither on the sizes of the bands nor on the executor.
class Comparison {
 public:
  /// All bands but the last have a multiple of this number of elements.
  static constexpr int64_t kBlock = int64_t{1} << 15;

  /// `axis`, if given, is an axis of the shape, counted from the front. Allocates
  /// memory_for_channels().
  Comparison(Element a, Element b, Shape shape, std::optional<int64_t> axis);

  /// Bytes that a Comparison needs for the channels of an axis; 0 without one.
  static int64_t memory_for_channels(Shape shape, std::optional<int64_t> axis);

  /// Compares the next band: the packed bytes of the same elements of both tensors.
  void add(std::span<const std::byte> a, std::span<const std::byte> b, const Executor& executor);

  /// Elements with the same bits, or NaN in both, of all that were added.
  int64_t identical() const { return total_.identical; }

  /// The difference of the tensors, with at most `worst` channels. Must be called after the last
  /// band.
  Difference result(size_t worst, bool skip_mismatches) const;

 private:
  /// Sums over the elements at one index of the axis.
  struct Channel {
    double largest = 0;
    double noise = 0;
    double signal = 0;
    int64_t mismatches = 0;
  };
  struct Band;

  void add_blocks(const Band& band, const Executor& executor);
  void add_channels(const Band& band, const Executor& executor);
  void add_channels(const Band& band, int64_t first, int64_t last);
  void add_slice(const Band& band, int64_t begin, int64_t end);
  void merge(const BlockDifference& block);
  std::vector<ChannelDifference> worst_channels(size_t worst, bool skip_mismatches) const;
  ElementPair pair(const BlockDifference::Pair& at) const;

  const Element a_type_;
  const Element b_type_;
  const std::vector<int64_t> shape_;
  const std::optional<int64_t> axis_;
  int64_t size_ = 1;
  int64_t inner_ = 1;  ///< consecutive elements of a channel
  int64_t done_ = 0;   ///< elements that were added
  BlockDifference total_;
  std::vector<BlockDifference> blocks_;  ///< of the band that is being added
  std::vector<Channel> channels_;
};

}  // namespace dequant::format
