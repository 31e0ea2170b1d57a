// A tensor in memory, as readers and writers of .npy, .pb and case files use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dequant/tensor.h"

namespace dequant::format {

/// Owns the shape and the data, which are packed and little-endian as in dequant::Buffers.
struct TensorData {
  Element element = Element::float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  TensorType type() const { return {element, shape}; }
};

}  // namespace dequant::format
