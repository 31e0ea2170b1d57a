// Checking the functions of a model.
#pragma once

#include <vector>

#include "dequant/status.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Fails with malformed when two functions have the same name, or when a function calls itself,
/// directly or through other functions. Fails with unsupported when a function redefines an
/// operator that dequant evaluates. `graphs` are all graphs of the model.
Status check_functions(const Model& model, const std::vector<Graph*>& graphs);

}  // namespace dequant::format::onnx
