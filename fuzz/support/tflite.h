// TFLite models from numbers, with the floats that they stand for.
#pragma once

#include <string>
#include <vector>

#include "fuzz/support/cursor.h"

namespace dequant::fuzz {

struct TfliteTensor {
  std::string name;
  std::vector<float> floats;
};

struct TfliteModel {
  std::string bytes;
  bool odd = false;  ///< something may be wrong with it
  std::vector<TfliteTensor> tensors;
};

/// A model of one subgraph with a few quantized tensors: per tensor, per axis, in blocks.
TfliteModel tflite_model(Cursor& cursor);

}  // namespace dequant::fuzz
