// The least and the greatest of floats, and how many are none, by loops of vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "dequant/element.h"

namespace dequant::format {

/// NaN, infinities and the range of finite numbers. Parts are added in any order.
struct ValueRange {
  int64_t nan = 0;
  int64_t infinity = 0;
  // Of finite numbers, where -0 is less than +0; nothing: there are none.
  std::optional<float> least = {};
  std::optional<float> greatest = {};

  void add(const ValueRange& other);
  /// Adds whole little-endian numbers of float32, float16 or bfloat16.
  void add(Element element, std::span<const std::byte> bytes);
};

/// How many of whole little-endian numbers of float16 are infinite.
int64_t infinite_float16(std::span<const std::byte> bytes);

}  // namespace dequant::format
