// Iterating over the values of packed elements.
#pragma once

#include <bit>
#include <cstring>
#include <span>

#include "dequant/codes.h"

namespace dequant::format {

/// Calls visit(double) with the values of the first `count` elements, or of all that `bytes` holds
/// if `count` is negative.
template <class Visit>
void for_each_number(Element element, std::span<const std::byte> bytes, Visit&& visit,
                     int64_t count = -1) {
  if (count < 0) count = static_cast<int64_t>(bytes.size()) * 8 / bits(element);
  if (element == Element::float32) {  // the most frequent type: no table look-up
    for (int64_t i = 0; i < count; ++i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * 4, sizeof value);
      visit(double{value});
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) visit(value_of(element, load_code(element, bytes, i)));
}

}  // namespace dequant::format
