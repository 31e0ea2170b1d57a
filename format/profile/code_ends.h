// What the lowest and the highest code of a type stand for, under one scale after another.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "dequant/plan.h"

namespace dequant::format {

/// The end codes dequantized with one scale: as numbers, the one of the lowest code first, and as
/// packed bytes of the output type.
struct Ends {
  double first = 0;
  double second = 0;
  std::span<const std::byte> bytes;
};

/// Dequantizes the codes at both ends of a type with so many scales at a time.
class CodeEnds {
 public:
  CodeEnds(Element x, Element scale, bool has_zero_point, Element output, int64_t most);

  /// Visits the ends under each of `count` scales. Fails where a zero point breaks a rule.
  Status visit(std::span<const std::byte> scales, std::span<const std::byte> zero_points,
               int64_t count, const std::function<void(const Ends&)>& visit);

 private:
  Plan plan_;
  std::vector<std::byte> codes_;
  std::vector<std::byte> values_;
};

}  // namespace dequant::format
