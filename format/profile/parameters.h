// What the scales and zero points of a tensor tell where its codes are not known.
#pragma once

#include <cstdint>
#include <optional>

#include "dequant/element.h"
#include "format/profile/extent.h"

namespace dequant::format {

/// Known scales and zero points, and what they make of the type of the codes.
struct Parameters {
  std::optional<Element> type;  ///< of the codes, where that is known
  Element scale_type = Element::float32;
  int64_t scale_count = 0;
  Extent scale;
  Extent zero_point;
  /// What the lowest and the highest code of the type stand for; none of no known type.
  Extent covered;
};

}  // namespace dequant::format
