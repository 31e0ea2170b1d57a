// A format of model files that exists for tests only: what a new format has to bring, and a proof
// that everything written on ModelFile works without ONNX.
#pragma once

#include <string>

#include "format/model/format.h"

namespace dequant::testing {

/// Files that begin with "BOXES 1\n". Then a line of JSON, and behind it the packed bytes:
///   [{"name": "w", "type": "int4", "shape": [4, 8], "at": 0,
///     "scale": {"type": "float32", "at": 16}, "axis": 0, "zero_point": {"at": 32}}, ...]
/// A tensor with a scale is dequantized to float32 along its axis (per tensor without one); one
/// with "left" stays quantized, for that reason; all others are stored as they are. Reads the
/// option "strict".
extern const format::Format kBoxes;

}  // namespace dequant::testing
