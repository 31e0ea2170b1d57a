// The values of the lowest and the highest code of a type under each of many scales.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "dequant/plan.h"

namespace dequant::format {

/// The lowest and the highest code, dequantized with one scale: as numbers, and as packed bytes of
/// the output type, the lowest first.
struct Ends {
  double first = 0;
  double second = 0;
  std::span<const std::byte> bytes;
};

/// Dequantizes the lowest and the highest finite code of a type with many scales.
class CodeEnds {
 public:
  /// For `most` scales in one visit() at most.
  CodeEnds(Element x, Element scale, bool has_zero_point, Element output, int64_t most);

  /// Calls `visit` with the ends under each of `count` scales, in order. Fails as run() does where
  /// a zero point is not allowed.
  Status visit(std::span<const std::byte> scales, std::span<const std::byte> zero_points,
               int64_t count, const std::function<void(const Ends&)>& visit);

 private:
  Plan plan_;
  std::vector<std::byte> codes_;
  std::vector<std::byte> values_;
};

}  // namespace dequant::format
