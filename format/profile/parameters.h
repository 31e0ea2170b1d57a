// Statistics of the scales and zero points of a tensor whose codes are not in the file.
#pragma once

#include <cstdint>
#include <optional>

#include "dequant/element.h"
#include "format/profile/extent.h"

namespace dequant::format {

/// Statistics of constant scales and zero points, and the range of values that they allow.
struct Parameters {
  std::optional<Element> type;  ///< of the codes, where known
  Element scale_type = Element::float32;
  int64_t scale_count = 0;
  Extent scale;
  Extent zero_point;
  /// Of the dequantized lowest and highest code under every scale; empty where `type` is not known.
  Extent covered;
};

}  // namespace dequant::format
