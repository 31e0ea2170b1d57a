// The values of the lowest and the highest code of a type under each of many scales.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "dequant/plan.h"

namespace dequant::format {

/// The codes of the least and of the greatest finite number of a type.
std::pair<uint32_t, uint32_t> codes_at_ends(Element element);

/// The lowest and the highest code, dequantized with one scale: as numbers, and as packed bytes of
/// the output type, the lowest first.
struct Ends {
  double first = 0;
  double second = 0;
  std::span<const std::byte> bytes;
};

/// Dequantizes the lowest and the highest code with many scales.
class CodeEnds {
 public:
  /// For `most` scales in one visit() at most, and the codes at the ends of the type.
  CodeEnds(Element x, Element scale, bool has_zero_point, Element output, int64_t most)
      : CodeEnds(x, scale, has_zero_point, output, most, codes_at_ends(x)) {}

  /// The same for other codes, the lowest and the highest.
  CodeEnds(Element x, Element scale, bool has_zero_point, Element output, int64_t most,
           std::pair<uint32_t, uint32_t> codes);

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
