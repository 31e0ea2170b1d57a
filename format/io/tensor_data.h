// A tensor held in memory: what .npy, .pb and case files read into and are written from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dequant/tensor.h"

namespace dequant::format {

/// Owned shape and packed, little-endian data (as dequant::Buffers takes them).
struct TensorData {
  Element element = Element::float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  TensorType type() const { return {element, shape}; }
};

}  // namespace dequant::format
